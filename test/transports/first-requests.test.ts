import { subscribe, unsubscribe } from "node:diagnostics_channel"
import { once } from "node:events"
import { connect } from "node:net"
import { setTimeout as delay, setImmediate as nextTurn } from "node:timers/promises"
import { UserService } from "@authwire/proto"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { until } from "@authwire/test-support/until.js"
import { afterEach, expect, jest, test } from "@jest/globals"
import { http2Frame } from "../../fuzz/generate/http2-frames.ts"
import { createRouter, register } from "../../server/src/rpc/router.js"
import { Connection } from "../../server/src/transport/limits/connection.js"
import { perTurn } from "../../server/src/transport/limits/few-at-a-time.js"
import { limits } from "../../server/src/transport/limits/limits.js"
import { longestTurnMs } from "../../server/src/util/turn-limit.js"
import { listensAfterEach } from "./listens.js"

const openListeners = listensAfterEach()
const later = endsAfterEach()
afterEach(() => {
  jest.restoreAllMocks()
})

/**
 * Opens the listeners, of which each call waits for its key, and notes the turn of the event loop in which it has begun.
 *
 * @param admission.busyMs How long a call keeps the event loop busy when it begins.
 * @param admission.waitMs How long its key has to be waited for.
 */
async function serve({ busyMs = 0, waitMs = 300 } = {}) {
  const turns: number[] = []
  let turn = 0
  let next = setImmediate(function count() {
    turn++
    next = setImmediate(count)
  })
  later(async () => clearImmediate(next))
  const router = createRouter({
    services: [
      register(
        UserService,
        Object.fromEntries(UserService.methods.map(({ localName }) => [localName, async () => ({})])) as never,
      ),
    ],
    observer: { clock: () => 0, recorderOf: () => () => {}, rejected() {} },
    access: {
      admit: () => async (call) => {
        turns.push(turn)
        for (const begun = performance.now(); performance.now() - begun < busyMs; );
        await delay(waitMs)
        call.identity = { tenant: "t", keyId: "k", hasScope: () => true }
      },
    },
    interceptors: [],
    maxDeadlineMs: 30_000,
    limitOf: () => undefined,
    pauseAfter: async () => {},
  })
  return { ...(await openListeners(router)), turns }
}

const text = (value: string) => Buffer.concat([Buffer.of(value.length), Buffer.from(value)])
const header = Buffer.concat(
  Object.entries({
    ":method": "POST",
    ":scheme": "http",
    ":path": `/${UserService.typeName}/GetUser`,
    ":authority": "x",
    "content-type": "application/grpc",
    te: "trailers",
  }).map(([name, value]) => Buffer.concat([Buffer.of(0), text(name), text(value)])),
)
const streams = Array.from({ length: limits.unauthenticatedStreams }, (_, n) => 2 * n + 1)
const requestsOf = (ids: number[]) => Buffer.concat(ids.map((id) => http2Frame(1, 4, id, header)))
const requests = requestsOf(streams)
const resets = Buffer.concat(streams.map((id) => http2Frame(3, 0, id, Buffer.alloc(4))))

const mostInATurn = (turns: number[]) =>
  Math.max(...Object.values(Object.groupBy(turns, String)).map((some) => some?.length ?? 0))

async function connected(url: string) {
  const socket = connect(Number(new URL(url).port), "127.0.0.1")
  later(async () => void socket.destroy())
  socket.resume().on("error", () => {})
  await once(socket, "connect")
  socket.write(Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), http2Frame(4, 0, 0, Buffer.alloc(0))]))
  return socket
}

test.each(["grpcUrl", "baseUrl"] as const)(
  "S-40: a hundred requests that arrive at once are begun in many turns of the event loop (%s)",
  async (listener) => {
    // No turn is over its time, so that none passes its requests on to a later one.
    jest.spyOn(performance, "now").mockReturnValue(0)
    const { turns, ...urls } = await serve()
    const socket = await connected(urls[listener])
    socket.write(requests)
    await until(() => turns.length === streams.length)
    // If a turn is late, those that waited for the next one are begun with those of the next one.
    expect(mostInATurn(turns)).toBeLessThanOrEqual(5 * perTurn)
  },
)

test.each(["grpcUrl", "baseUrl"] as const)(
  "S-40: after an admitted call, requests that take longer than a turn may are begun in several turns (%s)",
  async (listener) => {
    const { turns, ...urls } = await serve({ busyMs: 2 * longestTurnMs, waitMs: 0 })
    const socket = await connected(urls[listener])
    socket.write(requestsOf([1]))
    await once(socket, "data")
    await until(() => turns.length === 1)
    await delay(50)
    socket.write(requestsOf(streams.slice(1, 30)))
    await until(() => turns.length === 30)
    expect(mostInATurn(turns)).toBeLessThanOrEqual(2)
  },
)

test.each(["grpcUrl", "baseUrl"] as const)(
  "S-40: first requests of many connections that take longer than a turn may are begun in several turns (%s)",
  async (listener) => {
    const { turns, ...urls } = await serve({ busyMs: longestTurnMs })
    const sockets = await Promise.all(Array.from({ length: 10 }, () => connected(urls[listener])))
    // The service accepts one connection a turn.
    await delay(100)
    for (const socket of sockets) socket.write(requestsOf([1, 3]))
    await until(() => turns.length === 20)
    expect(mostInATurn(turns)).toBeLessThanOrEqual(2)
  },
)

test.each(["grpcUrl", "baseUrl"] as const)(
  "S-40: those that are reset before their turn are not begun, but count as rejected (%s)",
  async (listener) => {
    const counted = jest.spyOn(Connection.prototype, "countUnauthenticated")
    const { turns, ...urls } = await serve()
    const socket = await connected(urls[listener])
    socket.write(requests)
    while (turns.length === 0) await nextTurn()
    socket.write(resets)
    await until(() => turns.length + counted.mock.calls.length === streams.length)
    expect(turns.length).toBeLessThan(streams.length)
  },
)

test("S-40: of requests that are reset at once, few are read beyond those after which the connection is closed", async () => {
  const { grpcUrl } = await serve()
  const socket = await connected(grpcUrl)
  let created = 0
  const count = () => created++
  subscribe("http2.server.stream.created", count)
  later(async () => void unsubscribe("http2.server.stream.created", count))
  const ids = Array.from({ length: 900 }, (_, n) => 2 * n + 1)
  socket.write(
    Buffer.concat(ids.flatMap((id) => [http2Frame(1, 4, id, header), http2Frame(3, 0, id, Buffer.alloc(4))])),
  )
  await once(socket, "close")
  expect(created).toBeLessThan(2 * limits.unauthenticatedRequestsAtMost)
})
