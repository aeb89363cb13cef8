import http from "node:http"
import { sendAllButTheLastByte } from "@authwire/test-support/attack/partial-message.js"
import { getUserRequest, header, paths, prefix, symbolRequest } from "@authwire/test-support/attack/requests.js"
import {
  type AttackConnection,
  type AttackStream,
  attackConnection,
  endOf,
} from "@authwire/test-support/attack/streams.js"
import { type Listener, listeners, startTarget, type Target } from "@authwire/test-support/attack/target.js"
import { endsAfterEach, type Later, withEndings } from "@authwire/test-support/endings.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

const mebibyte = 1024 * 1024
/** The limit for incomplete requests on one connection. */
const budgetBytes = 10 * mebibyte
/** A message of a stream must be complete after 20 s. A machine may be slow. */
const messageMs = 35_000

describe("messages that are never complete", () => {
  let target: Target
  let hasty: Target
  beforeAll(async () => {
    target = await startTarget({ tellsHeap: true, args: ["--metrics-addr=127.0.0.1:0"] })
    hasty = await startTarget({ args: ["--max-deadline-ms=1000"] })
  })
  afterAll(() => Promise.all([target.close(), hasty.close()]))
  const ends = endsAfterEach()
  const connect = (listener: Listener, later: Later = ends, to = target): AttackConnection => {
    const connection = attackConnection(to.url(listener))
    later(async () => connection.close())
    return connection
  }

  const unary = [
    ["grpc", "application/grpc"],
    ["http", "application/grpc"],
    ["http", "application/grpc-web+proto"],
    ["http", "application/proto"],
  ] as const

  // The tests of time limits run at the same time, and so do all protocols, because each call stays open for six seconds.
  test.concurrent(
    "S-41: a call ends five seconds after its longest deadline",
    withEndings(async (later) => {
      const stillOpen = await Promise.all(
        unary.map(async ([listener, type]) => {
          const connection = connect(listener, later, hasty)
          const part = connection.open(header(paths.getUser, { key: hasty.keys.all, type }))
          sendAllButTheLastByte(part.stream, { bytes: 100_000, isEnveloped: type.includes("grpc") })
          const nothing = connection.open(header(paths.getUser, { key: hasty.keys.all, type }))
          // A call whose message is complete, but which is never half-closed.
          const unclosed = connection.open(header(paths.check, { type: "application/grpc" }))
          unclosed.stream.write(prefix(0))
          const found = await Promise.all([part, nothing, unclosed].map((call) => endOf(call)))
          return found.filter((end) => end.endsWith("still open")).map((end) => `${listener}, ${type}: ${end}`)
        }),
      )
      expect(stillOpen.flat()).toEqual([])
    }),
  )

  test.concurrent(
    "S-41: a stream with an incomplete message is reset, a stream without one stays open",
    withEndings(async (later) => {
      const half = symbolRequest("authwire.v1.UserService").subarray(0, 20)
      const drip = (call: AttackStream) => {
        call.stream.write(prefix(1_000))
        const timer = setInterval(() => call.stream.destroyed || call.stream.write(Buffer.of(0)), 500)
        call.closed.finally(() => clearInterval(timer))
      }
      const found = await Promise.all(
        listeners.map(async (listener) => {
          const connection = connect(listener, later)
          const { sessions: key } = target.keys
          const pipeline = () => connection.open(header(paths.pipeline, { key }))
          const [idle, begun, prefixOnly, dripped] = [pipeline(), pipeline(), pipeline(), pipeline()]
          begun.stream.write(Buffer.concat([prefix(1_000), Buffer.alloc(10)]))
          prefixOnly.stream.write(prefix(1_000).subarray(0, 3))
          drip(dripped)
          const reflection = connection.open(header(paths.reflection))
          reflection.stream.write(half)
          const watch = connection.open(header(paths.watch))
          watch.stream.write(Buffer.concat([prefix(1_000), Buffer.alloc(10)]))
          const streams = { begun, prefixOnly, dripped, reflection, watch }
          const end = async ([name, call]: [string, AttackStream]) => [name, await endOf(call, messageMs)]
          const found = Object.fromEntries(await Promise.all(Object.entries(streams).map(end)))
          return [listener, { ...found, idle: idle.open }]
        }),
      )
      const reset = expect.stringMatching(/(^| )ENHANCE_YOUR_CALM$/)
      const all = { begun: reset, prefixOnly: reset, dripped: reset, reflection: reset, watch: reset, idle: true }
      expect(Object.fromEntries(found)).toEqual({ grpc: all, http: all })
    }),
  )

  test.each(listeners)("%s listener: a stream that ends after half a message fails immediately", async (listener) => {
    const connection = connect(listener)
    const calls = [paths.pipeline, paths.reflection].map((path) =>
      connection.open(header(path, { key: target.keys.sessions }), Buffer.concat([prefix(1_000), Buffer.alloc(10)])),
    )
    const found = await Promise.all(calls.map((call) => endOf(call)))
    expect(found.filter((end) => end.startsWith("0") || end.endsWith("still open"))).toEqual([])
  })

  test.each(unary)("S-42: %s listener, %s: a connection holds 10 MiB of them", async (listener, type) => {
    const connection = connect(listener)
    const calls = Array.from({ length: 10 }, () =>
      connection.open(header(paths.getUser, { key: target.keys.all, type })),
    )
    const isEnveloped = type.includes("grpc")
    // Large enough that no number of them is only just below the limit.
    const bytes = 3 * mebibyte
    const messages = calls.map((call) => sendAllButTheLastByte(call.stream, { bytes, isEnveloped }))
    const open = () => calls.filter((call) => call.open)
    const isSent = () => calls.every((call, index) => !call.open || messages[index]?.isAlmostWhole)
    const isWithin = () => open().length * bytes <= budgetBytes
    // If there is more, the comparison below fails.
    await until(() => isSent() && isWithin()).catch(() => {})
    const left = open()
    expect(left.length).toBeGreaterThan(0)
    expect(left.length * bytes).toBeLessThanOrEqual(budgetBytes)
    const reset = await Promise.all(calls.filter((call) => !left.includes(call)).map((call) => endOf(call)))
    expect(reset.filter((end) => end !== "ENHANCE_YOUR_CALM")).toEqual([])
    // The requests that are held can still be completed.
    for (const call of left) call.stream.end(Buffer.alloc(1))
    const answered = await Promise.all(left.map((call) => endOf(call)))
    expect(answered.filter((end) => !end.endsWith("NO_ERROR"))).toEqual([])
  })

  test.each(unary)("%s listener, %s: with 6 MiB of them no further request is read", async (listener, type) => {
    const connection = connect(listener)
    const isEnveloped = type.includes("grpc")
    const open = () => connection.open(header(paths.getUser, { key: target.keys.all, type }))
    const held = [open(), open()]
    const messages = held.map(({ stream }) => sendAllButTheLastByte(stream, { bytes: 3.5 * mebibyte, isEnveloped }))
    await until(() => messages.every(({ isAlmostWhole }) => isAlmostWhole))
    // gRPC-Web has its status in the body.
    const isWeb = type.includes("web")
    expect(await endOf(open())).toMatch(isWeb ? /^200 NO_ERROR$/ : /^(8|429) NO_ERROR$/)
    for (const { stream } of held) stream.end(Buffer.alloc(1))
    await Promise.all(held.map((call) => endOf(call)))
    const after = open()
    after.stream.end(isEnveloped ? getUserRequest("nobody") : undefined)
    expect(await endOf(after)).toMatch(isWeb ? /^200 NO_ERROR$/ : /^(5|400) NO_ERROR$/)
  })

  test.each(listeners)("%s listener: a key has 2,048 streams over all its connections", async (listener) => {
    const calls = [1, 2, 3].flatMap(() => {
      const connection = connect(listener)
      return Array.from({ length: 900 }, () => connection.open(header(paths.getUser, { key: target.keys.all })))
    })
    const open = () => calls.filter((call) => call.open)
    await until(() => open().length <= 2_048)
    expect(open()).toHaveLength(2_048)
    const rejected = await Promise.all(calls.filter((call) => !call.open).map((call) => endOf(call)))
    expect(rejected.filter((end) => !end.startsWith("8 "))).toEqual([])
    // In portions: more calls at once than can be answered soon are rejected, depending on the speed of the machine.
    const left = open()
    while (left.length > 0) {
      const portion = left.splice(0, 64)
      for (const call of portion) call.stream.end(getUserRequest("nobody"))
      expect(new Set(await Promise.all(portion.map((call) => endOf(call))))).toEqual(new Set(["5 NO_ERROR"]))
    }
  })

  test.each(unary)("%s listener, %s: one byte does not retain the buffer in which it came", async (listener, type) => {
    const connection = connect(listener)
    const open = () => connection.open(header(paths.getUser, { key: target.keys.all, type }))
    const before = await target.heldBytes()
    const slow = open()
    slow.stream.write(prefix(100_000))
    // Twice the allowed amount, if the buffers were retained.
    for (let sent = 0; sent < 250; sent++) {
      const other = open()
      slow.stream.write(Buffer.alloc(1))
      other.stream.end(Buffer.alloc(60 * 1024))
      await endOf(other)
    }
    expect(slow.open).toBe(true)
    expect((await target.heldBytes()) - before).toBeLessThan(8 * mebibyte)
  })

  test.each(listeners)("%s listener: without a key they take no memory", async (listener) => {
    const connections = [1, 2, 3].map(() => connect(listener))
    await Promise.all(connections.map(({ seen }) => seen()))
    const before = await target.heldBytes()
    const calls = connections.flatMap((connection) =>
      [paths.getUser, paths.pipeline, paths.reflection, paths.check].flatMap((path) =>
        Array.from({ length: 15 }, () => connection.open(header(path))),
      ),
    )
    const messages = calls.map((call) => sendAllButTheLastByte(call.stream))
    await until(() => calls.every((call, index) => !call.open || messages[index]?.isAlmostWhole), 50_000)
    expect((await target.heldBytes()) - before).toBeLessThan(32 * mebibyte)
  })

  /** Sends 16 bodies, one GiB in all, and returns how many of their bytes were read. */
  async function readOf(url: string, method: string, headers: Record<string, string>): Promise<number> {
    await target.heldBytes()
    const before = await target.bufferBytes()
    const agent = new http.Agent({ keepAlive: true })
    ends(async () => agent.destroy())
    const send = () => {
      const call = http.request(url, { method, headers, agent })
      call.on("error", () => {})
      sendAllButTheLastByte(call, { bytes: 64 * mebibyte, isEnveloped: false })
      return new Promise((resolve) => call.once("close", resolve))
    }
    // All at the same time, because each takes a second until it is closed.
    await Promise.all(Array.from({ length: 16 }, send))
    return (await target.bufferBytes()) - before
  }

  /**
   * The limit for the 16 bodies. For each, up to three chunks of 64 KiB may be read. In the 200 ms before the
   * connection is closed, Node could read everything.
   */
  const little = 16 * 4 * 64 * 1024

  test.each([
    ["a call without a key", "POST", paths.getUser, "application/proto"],
    ["a call of a type that is not spoken", "POST", paths.getUser, "text/html"],
    ["a method of HTTP that is none of a call", "PUT", paths.getUser, "application/proto"],
    ["a path that is not there", "POST", "/nothing", "application/proto"],
    ["a probe", "POST", "/healthz", "application/proto"],
  ])("over HTTP/1.1 little is read of the body of %s", async (_, method, path, type) => {
    expect(await readOf(target.server.httpUrl + path, method, { "content-type": type })).toBeLessThan(little)
  })

  test.each(["http", "metrics"])(
    "at the %s listener little is read after an Expect header that is not satisfied",
    async (listener) => {
      const url = listener === "metrics" ? target.server.metricsUrl : target.server.httpUrl + paths.getUser
      expect(await readOf(url, "POST", { expect: "more" })).toBeLessThan(little)
    },
  )
})
