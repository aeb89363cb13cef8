import { once } from "node:events"
import http from "node:http"
import { connect } from "node:net"
import { http1Request } from "@authwire/test-support/attack/raw-sockets.js"
import { checkRequest, getUserRequest, header, paths } from "@authwire/test-support/attack/requests.js"
import { type AttackConnection, attackConnection, endOf } from "@authwire/test-support/attack/streams.js"
import { listeners, startTarget, type Target } from "@authwire/test-support/attack/target.js"
import { staticKey } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { limits } from "../../server/src/transport/limits/limits.js"

// Rejecting a call costs about as much as answering it, so a client without a key could keep a process busy over few
// connections. Tests of the counts and of what they cause are in server/src/transport: closing/close-unneeded.test.ts and
// limits/open-methods.test.ts.
const few = limits.unauthenticatedRequests
let target: Target
beforeAll(async () => {
  target = await startTarget({ args: ["--metrics-addr=127.0.0.1:0"] })
})
afterAll(() => target.close())

const unknown = staticKey(["all"]).text
const body = getUserRequest("nobody")

/** Makes calls one after another. @returns How often each outcome occurred. */
async function ends(
  connection: AttackConnection,
  count: number,
  path: string,
  { key, message = body, ...fields }: { key?: string; message?: Buffer; "grpc-timeout"?: string } = {},
) {
  const seen: Record<string, number> = {}
  for (let call = 0; call < count; call++) {
    const end = await endOf(connection.open({ ...header(path, { key }), ...fields }, message))
    seen[end] = (seen[end] ?? 0) + 1
  }
  return seen
}

describe.each(listeners)("a connection of HTTP/2 to the %s listener", (listener) => {
  const isOver = ({ session }: AttackConnection) => until(() => session.closed || session.destroyed)

  test.each([
    ["without a key", paths.getUser, {}, "16 NO_ERROR"],
    ["with an unknown key", paths.getUser, { key: unknown }, "16 NO_ERROR"],
    ["with an unknown key, for pipelines", paths.pipeline, { key: unknown }, "16 NO_ERROR"],
    ["without a key and with no time", paths.getUser, { "grpc-timeout": "0S" }, "16 NO_ERROR"],
    [
      "for a method that is none",
      "/authwire.v1.UserService/None",
      { key: unknown },
      listener === "grpc" ? "12 NO_ERROR" : "404 NO_ERROR",
    ],
  ])("S-40: is closed after a few calls %s, and another one is answered", async (_, path, how, end) => {
    for (let round = 0; round < 2; round++) {
      const connection = attackConnection(target.url(listener))
      expect(await ends(connection, few, path, how)).toEqual({ [end]: few })
      await isOver(connection)
      connection.close()
    }
  })

  test("with one call by a valid key stays open, whatever follows, and has the ordinary rate limit of health checks", async () => {
    const connection = attackConnection(target.url(listener))
    const valid = () => ends(connection, 1, paths.getUser, { key: target.keys.all })
    expect(await valid()).toEqual({ "5 NO_ERROR": 1 })
    expect(await ends(connection, 3 * few, paths.getUser, { key: unknown })).toEqual({ "16 NO_ERROR": 3 * few })
    const { "0 NO_ERROR": served = 0 } = await ends(connection, 200, paths.check, { message: checkRequest("") })
    expect(served).toBeGreaterThanOrEqual(limits.healthPerSecond)
    expect(await valid()).toEqual({ "5 NO_ERROR": 1 })
    connection.close()
  })
})

describe("a connection of HTTP/1.1", () => {
  const path = paths.getUser
  const json = { "content-type": "application/json" }

  /** Makes a request. @returns Its status, whether it announces the end of the connection, and its local port. */
  async function ask(
    agent: http.Agent,
    { url = target.url("http"), path: to = path, method = "POST", ...headers }: Record<string, string>,
  ) {
    const request = http.request(`${url}${to}`, { agent, method, headers: { ...json, ...headers } })
    request.end(method === "POST" ? "{}" : undefined)
    const [response] = (await once(request, "response")) as [http.IncomingMessage]
    const from = response.socket.localPort
    await once(response.resume(), "end")
    return { status: response.statusCode, isLast: response.headers.connection === "close", from }
  }

  test.each([
    ["without a key", {}, 401, few],
    ["with an unknown key", { authorization: `Bearer ${unknown}` }, 401, few],
    ["without a key, and with no time", { "connect-timeout-ms": "0" }, 401, few],
    ["by a version of Connect that there is not", { "connect-protocol-version": "9" }, 401, few],
    ["with an expectation that nobody meets", { expect: "more" }, 417, few],
    ["for a host that is none", { host: "[" }, 400, few],
    ["for no path", { path: "/none" }, 404, few + 1],
    ["by a method that is none", { method: "PUT" }, 405, few],
    [
      "for health, more often than it may",
      { path: "/healthz", method: "GET" },
      200,
      limits.unauthenticatedHealthBurst + few,
    ],
  ])("S-40: is closed by its client after a few requests %s, which are all answered", async (_, how, status, most) => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
    const answers = []
    const begun = performance.now()
    for (let count = 0; count < 3 * most; count++) answers.push(await ask(agent, how as Record<string, string>))
    agent.destroy()
    expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([status]))
    const byConnection = [...Map.groupBy(answers, ({ from }) => from).values()]
    expect(byConnection.length).toBeGreaterThan(1)
    // Further health checks are allowed as time passes.
    const later = limits.unauthenticatedHealthPerSecond * ((performance.now() - begun) / 1_000)
    for (const [index, all] of byConnection.entries()) {
      expect(all.length).toBeLessThanOrEqual(most + 1 + later)
      if (index < byConnection.length - 1) expect(all.map(({ isLast }) => isLast).indexOf(true)).toBe(all.length - 1)
    }
  })

  test("to the metrics listener is closed by its client after each request", async () => {
    const url = /^authwire: metrics at (\S+)\/metrics$/m.exec(target.server.output())?.[1] as string
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
    for (const to of ["/metrics", "/none", "/metrics"]) {
      const status = to === "/none" ? 404 : 200
      expect(await ask(agent, { url, path: to, method: "GET" })).toMatchObject({ status, isLast: true })
    }
    agent.destroy()
  })

  test("is closed by the service if its client continues", async () => {
    const socket = connect(Number(new URL(target.url("http")).port), "127.0.0.1")
    let heard = () => {}
    for (const event of ["error", "data", "close"]) socket.on(event, () => heard())
    const request = http1Request(path, { method: "POST", key: unknown })
    let answers = 0
    for (; !socket.destroyed && answers < 2 * few; answers++) {
      const answered = new Promise<void>((resolve) => {
        heard = resolve
      })
      socket.write(request)
      await answered
    }
    expect(answers).toBe(few + 1)
  })

  test("with one call by a valid key stays open, whatever follows", async () => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
    const keys = [target.keys.all, ...Array.from({ length: 3 * few }, () => unknown), target.keys.all]
    const answers = []
    for (const key of keys) answers.push(await ask(agent, { authorization: `Bearer ${key}` }))
    agent.destroy()
    expect(new Set(answers.map(({ from }) => from)).size).toBe(1)
    expect(answers.at(-1)).toMatchObject({ status: 400, isLast: false })
  })
})
