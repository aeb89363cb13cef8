import { once } from "node:events"
import http from "node:http"
import type http2 from "node:http2"
import { sendAllButTheLastByte } from "@authwire/test-support/attack/partial-message.js"
import { getUserRequest, header, paths } from "@authwire/test-support/attack/requests.js"
import { type AttackConnection, attackConnection, endOf, takesNothing } from "@authwire/test-support/attack/streams.js"
import { listeners, startTarget, type Target } from "@authwire/test-support/attack/target.js"
import { describeServer } from "@authwire/test-support/databases/databases.js"
import { endsAfterEach, withEndings } from "@authwire/test-support/endings.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { whileFull } from "@authwire/test-support/processes/full.js"
import { staticKey } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { limits } from "../../server/src/transport/limits/limits.js"
import { sharedLimits } from "../../server/src/util/shared-limits.js"

/** A message that never ends in this test: it is larger than what can be sent before the stream is closed. */
const endless = { bytes: 2 ** 32 - 1 }

describe("S-39: unauthorized calls are rejected after their headers", () => {
  let target: Target
  beforeAll(async () => {
    target = await startTarget({ args: ["--rate-limit-overrides=UserService.GetUser=1"] })
  })
  afterAll(() => target.close())
  const ends = endsAfterEach()
  const connect = (listener: (typeof listeners)[number]): AttackConnection => {
    const connection = attackConnection(target.url(listener))
    ends(async () => connection.close())
    return connection
  }

  const strangers: [who: string, key: () => string | undefined, status: string][] = [
    ["without a key", () => undefined, "16"],
    ["with a key that is none", () => "nonsense", "16"],
    ["with a key that nobody knows", () => staticKey(["all"]).text, "16"],
  ]
  const callers: typeof strangers = [...strangers, ["with a key that lacks the scope", () => target.keys.sessions, "7"]]

  describe.each(listeners)("at the %s listener", (listener) => {
    test.each(callers)("a unary call %s", async (_, key, status) => {
      const call = connect(listener).open(header(paths.getUser, { key: key() }))
      expect(await endOf(call)).toBe(`${status} NO_ERROR`)
    })

    test.each(strangers)("a pipeline %s", async (_, key, status) => {
      const call = connect(listener).open(header(paths.pipeline, { key: key() }))
      expect(await endOf(call)).toBe(`${status} NO_ERROR`)
    })

    test("a call beyond the rate of its key", async () => {
      const connection = connect(listener)
      const calls = [1, 2].map(() => connection.open(header(paths.getUser, { key: target.keys.all })))
      expect(await endOf(calls[1]!)).toBe("8 NO_ERROR")
      // The first call has used up the rate, and continues.
      calls[0]!.stream.end(getUserRequest("nobody"))
      expect(await endOf(calls[0]!)).toBe("5 NO_ERROR")
    })

    test.each([paths.getUser, paths.pipeline])("%s: an endless message does not keep the stream open", async (path) => {
      const call = connect(listener).open(header(path))
      const message = sendAllButTheLastByte(call.stream, endless)
      expect(await endOf(call)).toBe("16 NO_ERROR")
      expect(message.isAlmostWhole).toBe(false)
    })

    test("the connection stays usable", async () => {
      const connection = connect(listener)
      const calls = Array.from({ length: limits.unauthenticatedRequests - 1 }, () =>
        connection.open(header(paths.getUser)),
      )
      for (const { stream } of calls) sendAllButTheLastByte(stream)
      const found = await Promise.all(calls.map((call) => endOf(call)))
      expect(found.filter((end) => end !== "16 NO_ERROR")).toEqual([])
      expect(await endOf(connection.open(header(paths.check), Buffer.alloc(5)))).toBe("0 NO_ERROR")
    })
  })

  test.each([
    ["application/proto", undefined, "401 NO_ERROR"],
    ["application/json", undefined, "401 NO_ERROR"],
    ["application/json", "sessions", "403 NO_ERROR"],
    ["application/grpc-web+proto", undefined, expect.stringMatching(/^(16|200) NO_ERROR$/)],
  ] as const)("a call of %s over HTTP/2 with the key %s", async (type, key, end) => {
    const call = connect("http").open(header(paths.getUser, { type, key: key && target.keys[key] }))
    const message = sendAllButTheLastByte(call.stream, { ...endless, isEnveloped: type.includes("grpc") })
    expect(await endOf(call)).toEqual(end)
    expect(message.isAlmostWhole).toBe(false)
  })

  describe.each([
    ["reads", {}],
    ["does not read", takesNothing],
  ])("by a client that %s, over HTTP/2", (_, settings) => {
    const call = header(paths.getUser, { type: "application/json" })
    // At the same time, because such a connection is closed after a second.
    test.concurrent.each<[string, http2.OutgoingHttpHeaders, string]>([
      ["by CONNECT", { ":method": "CONNECT", ":authority": "a:1" }, "405"],
      ["with an expectation that is not met", { ...call, expect: "more" }, "417"],
      ["for a host that is not valid", { ...call, ":authority": "[" }, "400"],
    ])(
      "streams of requests %s are closed, and so is their connection",
      withEndings(async (later, _, fields, status) => {
        const connection = attackConnection(target.url("http"), settings)
        later(async () => connection.close())
        const calls = Array.from({ length: limits.unauthenticatedRequests }, () => connection.open(fields))
        const found = await Promise.all(calls.map((one) => endOf(one)))
        for (const end of found) expect([`${status} NO_ERROR`, `${status} ENHANCE_YOUR_CALM`]).toContain(end)
        await until(() => connection.session.closed || connection.session.destroyed)
      }),
    )
  })

  const bytes = 2 ** 40

  test.concurrent.each<[string, http.OutgoingHttpHeaders, number]>([
    ["application/proto", { "content-length": bytes }, 401],
    ["application/proto", {}, 401],
    ["application/grpc-web+proto", {}, 200],
  ])(
    "a call of %s with %j over HTTP/1.1, whose connection is closed",
    withEndings(async (later, type, length, status) => {
      const agent = new http.Agent({ keepAlive: true })
      const headers = { "content-type": type, ...length }
      const call = http.request(target.server.httpUrl + paths.getUser, { method: "POST", agent, headers })
      later(async () => call.destroy())
      call.on("error", () => {})
      call.flushHeaders()
      const answered = once(call, "response") as Promise<[http.IncomingMessage]>
      const [answer] = await answered
      expect(answer.statusCode).toBe(status)
      answer.resume()
      // The client continues to send, and never ends the request.
      sendAllButTheLastByte(call, { bytes, isEnveloped: false })
      await until(() => call.socket?.destroyed === true)
    }),
  )
})

test("the large headers that /v1/authorize accepts count against the request limit of a key", async () => {
  const target = await startTarget()
  // Node limits the headers of a single connection.
  const connections = Array.from({ length: 3 }, () => attackConnection(target.url("http"), takesNothing))
  try {
    const fields = { ":path": "/v1/authorize", "x-api-key": target.keys.all, "x-large": "x".repeat(60_000) }
    const fitting = Math.floor(sharedLimits.requestBytes.key / 60_000)
    for (const connection of connections) {
      for (let call = 0; call < fitting / 2; call++) connection.open(fields, Buffer.alloc(0))
    }
    await Promise.all(connections.map(({ seen }) => seen()))
    // The answers wait for the client, and so do the headers of their requests.
    const open = () => connections.reduce((sum, { openStreams }) => sum + openStreams, 0)
    await until(() => open() <= fitting)
    expect(open()).toBeGreaterThan(fitting / 2)
  } finally {
    for (const { close } of connections) close()
    await target.close()
  }
})

describeServer("calls beyond the concurrency limit", (database) => {
  const authwire = useAuthwire(database, { args: ["--max-active-calls=2"] })

  test("are rejected after their headers, at both listeners", async () => {
    const { grpcUrl, httpUrl } = authwire.server
    const connections = [grpcUrl, httpUrl].map((url) => attackConnection(url))
    await whileFull(authwire, async () => {
      const types = ["application/grpc", "application/grpc", "application/proto"]
      const found = types.map((type, index) => {
        const call = connections[Math.min(index, 1)]?.open(header(paths.updateUser, { type }))
        return call && endOf(call, 4_000)
      })
      expect(await Promise.all(found)).toEqual(["8 NO_ERROR", "8 NO_ERROR", "429 NO_ERROR"])
    })
    for (const { close } of connections) close()
  })
})
