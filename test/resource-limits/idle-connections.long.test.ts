import { once } from "node:events"
import { endlessHeader, idleConnection, unreadSocket } from "@authwire/test-support/attack/raw-sockets.js"
import { header, paths } from "@authwire/test-support/attack/requests.js"
import { attackConnection, endOf } from "@authwire/test-support/attack/streams.js"
import { listeners, startTarget, type Target } from "@authwire/test-support/attack/target.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

/** A connection without an authorized call is closed after 30 s without a stream. */
const idleMs = 45_000

describe("idle connections", () => {
  let target: Target
  beforeAll(async () => {
    target = await startTarget()
  })
  afterAll(() => target.close())
  const ends = endsAfterEach()

  const raw = (url: string, bytes: Buffer, more?: Buffer) => {
    const one = unreadSocket(url, bytes)
    const timer = setInterval(() => more && one.socket.write(more), 1_000)
    ends(async () => {
      clearInterval(timer)
      one.close()
    })
    return one
  }

  test("are closed, except those that had an authorized call", async () => {
    const slow = Buffer.from("POST / HTTP/1.1\r\nhost: localhost\r\nx-slow: ")
    const silent = listeners.flatMap((listener) => {
      const url = target.url(listener)
      return [
        [`${listener}: idle`, raw(url, idleConnection)],
        [`${listener}: a header that does not end`, raw(url, endlessHeader(paths.getUser))],
      ] as const
    })
    const http1 = [["HTTP/1.1: a header that does not end", raw(target.url("http"), slow, Buffer.from("x"))]] as const
    await until(() => [...silent, ...http1].every(([, { isHeld }]) => isHeld))
    const used = await Promise.all(
      listeners.map(async (listener) => {
        const connect = () => {
          const connection = attackConnection(target.url(listener))
          ends(async () => connection.close())
          return connection
        }
        const [allowed, rejected] = [connect(), connect()]
        const pipeline = allowed.open(header(paths.pipeline, { key: target.keys.sessions }))
        await once(pipeline.stream, "data")
        pipeline.stream.close()
        expect(await endOf(rejected.open(header(paths.getUser), Buffer.alloc(5)))).toBe("16 NO_ERROR")
        return { listener, allowed, rejected }
      }),
    )
    const open = () => [
      ...[...silent, ...http1].filter(([, { isHeld }]) => isHeld).map(([name]) => name),
      ...used.filter(({ rejected }) => !rejected.session.destroyed).map(({ listener }) => `${listener}: rejected`),
    ]
    // If connections remain, the comparison below fails.
    await until(() => open().length === 0, idleMs).catch(() => {})
    expect(open()).toEqual([])
    expect(used.map(({ allowed }) => allowed.session.closed)).toEqual([false, false])
  })
})
