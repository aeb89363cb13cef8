import { connect as connectTcp, type Socket } from "node:net"
import {
  checkRequest,
  getUserRequest,
  header,
  paths,
  reflectionRequest,
  symbolRequest,
} from "@authwire/test-support/attack/requests.js"
import {
  type AttackConnection,
  type AttackStream,
  attackConnection,
  endOf,
} from "@authwire/test-support/attack/streams.js"
import { type Listener, listeners, startTarget, type Target } from "@authwire/test-support/attack/target.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

const empty = Buffer.alloc(5)
const perConnection = 16
const perConnectionOfReflection = 4
const perProcess = 1_024
/** Requests per second, and in a burst, over a connection that has made a call with a key. */
const perSecond = 100

describe.each(listeners)("streams that need no key, at the %s listener", (listener) => {
  let target: Target
  beforeAll(async () => {
    target = await startTarget()
  })
  afterAll(() => target.close())
  const ends = endsAfterEach()
  const connect = (to: Listener = listener): AttackConnection => {
    const connection = attackConnection(target.url(to))
    ends(async () => connection.close())
    return connection
  }
  /**
   * A connection that has used a valid key. Other connections are closed at a high rate of requests
   * (strangers.test.ts).
   */
  const connectWithKey = async () => {
    const connection = connect()
    const call = connection.open(header(paths.getUser, { key: target.keys.all }), getUserRequest("nobody"))
    expect(await endOf(call)).toBe("5 NO_ERROR")
    return connection
  }
  const watch = (connection: AttackConnection) => connection.open(header(paths.watch), empty)
  const reflect = (connection: AttackConnection) => {
    const call = connection.open(header(paths.reflection))
    call.stream.write(reflectionRequest)
    return call
  }
  const areServed = (calls: readonly AttackStream[]) =>
    until(() => calls.every(({ open, receivedBytes }) => open && receivedBytes > 0))

  test("S-44: are limited to 16 of health and 4 of reflection per connection", async () => {
    const connection = connect()
    const calls = Array.from({ length: perConnection + perConnectionOfReflection }, (_, index) =>
      index < perConnection ? watch(connection) : reflect(connection),
    )
    await areServed(calls)
    for (const one of [watch, reflect]) expect(await endOf(one(connection))).toBe("8 NO_ERROR")
    expect(await endOf(connection.open(header(paths.check), empty))).toBe("8 NO_ERROR")
    // A call with a key does not count.
    const call = connection.open(header(paths.pipeline, { key: target.keys.sessions }))
    await areServed([call])
    expect(connection.openStreams).toBe(calls.length + 1)
    // A closed stream frees its slot.
    calls[0]?.stream.close()
    await connection.seen()
    await areServed([watch(connection)])
  })

  test("have a rate limit: reflection, as requests of one stream", async () => {
    const connection = await connectWithKey()
    const begun = performance.now()
    const list = connection.open(header(paths.reflection))
    const unknown = symbolRequest("n")
    list.stream.write(Buffer.concat(Array.from({ length: 1_000 }, () => unknown)))
    expect(await endOf(list, 15_000)).toMatch(/^8 NO_ERROR$|ENHANCE_YOUR_CALM$/)
    const most = perSecond + (perSecond * (performance.now() - begun)) / 1_000 + 1
    // Each response repeats the requested name, and adds to it.
    expect(list.receivedBytes).toBeLessThan(most * (unknown.length + 100))
    expect(list.receivedBytes).toBeGreaterThan(0)
  })

  test("have a rate limit: health, for each connection", async () => {
    const connection = await connectWithKey()
    const begun = performance.now()
    const found = await many(1_000, () => connection.open(header(paths.check), empty))
    const served = found.filter((end) => end === "0 NO_ERROR").length
    expect(served).toBeGreaterThanOrEqual(perSecond)
    expect(served).toBeLessThanOrEqual(perSecond + (perSecond * (performance.now() - begun)) / 1_000 + 1)
    expect(found.filter((end) => !/^[08] NO_ERROR$/.test(end))).toEqual([])
    expect(await endOf(connect().open(header(paths.check), empty))).toBe("0 NO_ERROR")
  })

  test("have requests of at most 16 KiB", async () => {
    const [fits, large] = [16_000, 32_000].map((length) => checkRequest("x".repeat(length)))
    const connection = connect()
    expect(await endOf(connection.open(header(paths.check), fits))).toBe("5 NO_ERROR")
    expect(await endOf(connection.open(header(paths.check), large))).toMatch(/^8 NO_ERROR$|ENHANCE_YOUR_CALM$/)
    for (const path of [paths.watch, paths.reflection]) {
      const call = connection.open(header(path))
      call.stream.write(path === paths.watch ? large : symbolRequest("x".repeat(32 * 1024)))
      expect(await endOf(call)).toMatch(/^8 NO_ERROR$|ENHANCE_YOUR_CALM$/)
    }
  })
})

describe("streams that need no key, over HTTP/1.1", () => {
  test("are limited to 1,024 per process: the connection of another stream is closed", async () => {
    const target = await startTarget()
    const sockets: Socket[] = []
    try {
      const { port } = new URL(target.url("http"))
      const more = 6
      let begun = 0
      let closed = 0
      for (let count = 0; count < perProcess + more; count++) {
        const socket = connectTcp({ host: "127.0.0.1", port: Number(port) })
        sockets.push(socket)
        socket.on("error", () => {})
        socket.once("data", () => begun++)
        socket.once("close", () => closed++)
        socket.write(
          `POST ${paths.watch} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/connect+proto\r\ncontent-length: 5\r\n\r\n`,
        )
        socket.write(empty)
      }
      await until(() => begun === sockets.length && closed >= more)
      expect(closed).toBe(more)
    } finally {
      for (const socket of sockets) socket.destroy()
      await target.close()
    }
  })
})

/** Opens `count` streams, a few at a time. Returns how each ended. */
async function many(count: number, open: () => AttackStream): Promise<string[]> {
  const found: string[] = []
  let left = count
  const line = async () => {
    while (left-- > 0) found.push(await endOf(open()))
  }
  await Promise.all([1, 2, 3, 4].map(line))
  return found
}
