import { PipelineRequestSchema, PipelineService, UserService } from "@authwire/proto"
import { enveloped, getUserRequest, header, paths } from "@authwire/test-support/attack/requests.js"
import { attackConnection } from "@authwire/test-support/attack/streams.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { create, toBinary } from "@bufbuild/protobuf"
import { describe, expect, test } from "@jest/globals"
import { createRouter, register } from "../../server/src/rpc/router.js"
import { longestTurnMs } from "../../server/src/util/turn-limit.js"
import { listensAfterEach } from "./listens.js"

// The smallest messages have five bytes, so that thousands of them can arrive at once, over any number of streams.

const openListeners = listensAfterEach()
const later = endsAfterEach()

/** A service that takes longer for each message than a turn may last, and notes the turn and the key of each. */
async function serve() {
  const turns: number[] = []
  const keys: unknown[] = []
  let turn = 0
  let next = setImmediate(function count() {
    turn++
    next = setImmediate(count)
  })
  later(async () => clearImmediate(next))
  const busy = (keyId: unknown) => {
    turns.push(turn)
    keys.push(keyId)
    const until = performance.now() + longestTurnMs
    while (performance.now() < until);
  }
  const router = createRouter({
    services: [
      register(UserService, {
        ...Object.fromEntries(UserService.methods.map(({ localName }) => [localName, async () => ({})])),
        getUser: async () => {
          busy("")
          return {}
        },
      } as never),
      register(PipelineService, {
        // biome-ignore lint/correctness/useYield: it has no answers
        async *pipeline(requests, _caller, call) {
          for await (const _ of requests) busy(call.owner.keyId)
        },
      }),
    ],
    observer: { clock: () => 0, recorderOf: () => () => {}, rejected() {} },
    access: {
      admit: () => (call) => {
        const [tenant, keyId] = String(call.header("authorization")).slice("Bearer ".length).split("/") as [
          string,
          string,
        ]
        call.identity = { tenant, keyId, hasScope: () => true }
        return undefined
      },
    },
    interceptors: [],
    maxDeadlineMs: 30_000,
    limitOf: () => undefined,
    pauseAfter: async () => {},
  })
  return { ...(await openListeners(router)), turns, keys }
}

const message = enveloped(toBinary(PipelineRequestSchema, create(PipelineRequestSchema)))
const messages = Buffer.concat(Array.from({ length: 5 }, () => message))

test.each(["grpcUrl", "baseUrl"] as const)(
  "S-22: messages of streams are read in turns of the event loop (%s)",
  async (listener) => {
    const { turns, ...urls } = await serve()
    const connection = attackConnection(urls[listener])
    const streams = [0, 1].map(() => connection.open(header(paths.pipeline), messages))
    await Promise.all(streams.map(({ closed }) => closed))
    expect(turns).toHaveLength(10)
    // Two at most that wait begin in the turn in which one begins at once.
    expect(new Set(turns).size).toBeGreaterThanOrEqual(5)
    connection.close()
  },
)

const many = Array.from({ length: 10 }, (_, n) => n)
describe.each(["grpcUrl", "baseUrl"] as const)("at %s", (listener) => {
  test.each([
    ["one of the same tenant", "t/other", many.map(() => "t/many")],
    ["one of another tenant", "u/other", many.map(() => "t/many")],
    ["ten of another tenant", "u/other", many.map((n) => `t/many${n}`)],
  ])("S-22: the messages of a key do not wait for all those of another, %s", async (_, key, others) => {
    const { keys, ...urls } = await serve()
    const [long, short] = [attackConnection(urls[listener]), attackConnection(urls[listener])]
    const streams = others.map((other) => long.open(header(paths.pipeline, { key: other }), messages))
    await new Promise((resolve) => setTimeout(resolve, 2 * longestTurnMs))
    const one = short.open(header(paths.pipeline, { key }), messages)
    await Promise.all([...streams, one].map(({ closed }) => closed))
    expect(keys).toHaveLength(55)
    // About every second message is one of the other key. In one line each would wait for one of every stream.
    expect(keys.lastIndexOf("other")).toBeLessThan(40)
    long.close()
    short.close()
  })
})

const id = "i".repeat(20_000)
test.each([
  ["gRPC", "grpcUrl", "application/grpc", getUserRequest(id)],
  ["gRPC", "baseUrl", "application/grpc", getUserRequest(id)],
  ["gRPC-Web in JSON", "baseUrl", "application/grpc-web+json", enveloped(Buffer.from(JSON.stringify({ id })))],
  ["JSON", "baseUrl", "application/json", Buffer.from(JSON.stringify({ id }))],
] as const)(
  "S-22: large requests over %s are decoded in turns of the event loop (%s)",
  async (_, listener, type, body) => {
    const { turns, ...urls } = await serve()
    const connection = attackConnection(urls[listener])
    // All of the connection's later requests are begun as they arrive.
    await connection.open(header(paths.pipeline), message).closed
    turns.length = 0
    const calls = Array.from({ length: 5 }, () => connection.open(header(paths.getUser, { type }), body))
    await Promise.all(calls.map(({ closed }) => closed))
    expect(turns).toHaveLength(5)
    expect(new Set(turns).size).toBeGreaterThanOrEqual(4)
    connection.close()
  },
)
