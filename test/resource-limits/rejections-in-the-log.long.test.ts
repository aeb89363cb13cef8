import type { OutgoingHttpHeaders } from "node:http2"
import { UserService } from "@authwire/proto"
import { checkRequest, header, pathOf, paths } from "@authwire/test-support/attack/requests.js"
import { attackConnection, endOf } from "@authwire/test-support/attack/streams.js"
import { listeners, startTarget, type Target } from "@authwire/test-support/attack/target.js"
import { openBarePipeline } from "@authwire/test-support/connections/bare-pipeline.js"
import { logOf } from "@authwire/test-support/processes/log.js"
import { staticKey } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals"
import { limits } from "../../server/src/transport/limits/limits.js"

const calls = 1_000
const createUser = pathOf(UserService.method.createUser)

/** A log line that counts calls. */
interface Counted {
  answered?: { calls: number }[]
  rejected?: { calls: number }[]
}

test("a call at the HTTP listener whose request is too large has one log line", async () => {
  const target = await startTarget()
  const headers = { authorization: `Bearer ${target.keys.all}`, "content-type": "application/json" }
  const call = async (id: string) => {
    const body = JSON.stringify({ id })
    return (await fetch(target.url("http") + paths.getUser, { method: "POST", headers, body })).status
  }
  expect(await call("x".repeat(5_000_000))).toBe(429)
  expect(await call("nobody")).toBe(404)
  const linesOfCalls = () => logOf(target.server).filter(({ method }) => `/${method}` === paths.getUser)
  await until(() => linesOfCalls().some(({ reason }) => reason === "USER_NOT_FOUND"))
  expect(linesOfCalls().map(({ reason }) => reason)).toEqual(["INVALID_FIELD", "USER_NOT_FOUND"])
  await target.close()
})

describe.each(listeners)("rejected calls at the %s listener", (listener) => {
  let target: Target
  let before: number
  let begun: number
  beforeAll(async () => {
    target = await startTarget()
  })
  afterAll(() => target.close())
  beforeEach(() => {
    before = logOf(target.server).length
    begun = performance.now()
  })

  /** Makes the calls over connections that have few calls each, and returns how they ended. */
  async function endsOf(fields: OutgoingHttpHeaders, body: Buffer): Promise<Set<string>> {
    const found = new Set<string>()
    const line = async () => {
      for (let made = 0; made < calls / 4; ) {
        // The limits of a connection without a valid key.
        const connection = attackConnection(target.url(listener))
        for (let count = 0; count < limits.unauthenticatedRequests && made < calls / 4; count++, made++)
          found.add(await endOf(connection.open(fields, body)))
        connection.close()
      }
    }
    await Promise.all([1, 2, 3, 4].map(line))
    return found
  }

  const lines = () => logOf(target.server).slice(before)
  const isOfAudit = ({ event }: Record<string, unknown>) => event === "audit"
  /** The number of calls in the log, as lines of their own or in counts. */
  const told = () =>
    lines()
      .filter((line) => !isOfAudit(line))
      .reduce((sum, line) => {
        const { answered, rejected } = line as Counted
        const counts = answered ?? rejected
        return sum + (counts?.reduce((all, { calls }) => all + calls, 0) ?? (line.code === undefined ? 0 : 1))
      }, 0)

  // Ten lines per second and the line with the count. The first and the last second are incomplete.
  afterEach(async () => {
    await until(() => told() >= calls)
    const most = 11 * ((performance.now() - begun) / 1_000 + 2)
    expect(lines().filter((line) => !isOfAudit(line)).length).toBeLessThan(most)
    expect(lines().filter(isOfAudit).length).toBeLessThan(most)
  })

  const keys = [
    ["have no key", () => undefined, "16"],
    ["have an unknown one", () => staticKey(["all"]).text, "16"],
    ["lack the scope", () => target.keys.sessions, "7"],
  ] as const

  test.each(keys)("because they %s are logged one by one only up to ten per second", async (_, keyOf, status) => {
    const found = await endsOf(header(paths.getUser, { key: keyOf() }), Buffer.alloc(5))
    expect(found).toEqual(new Set([`${status} NO_ERROR`]))
  })

  // They write, so that the audit log has them too.
  test("because their time is over before their key is known are logged in the same way", async () => {
    const fields = { ...header(createUser, { key: staticKey(["all"]).text }), "grpc-timeout": "0n" }
    expect(await endsOf(fields, Buffer.alloc(5))).toEqual(new Set(["4 NO_ERROR"]))
  })

  const open: [string, OutgoingHttpHeaders, Buffer, status: string][] = [
    ["are answered", header(paths.check), Buffer.alloc(5), "0"],
    ["name an unknown service", header(paths.check), checkRequest("unknown"), "5"],
    ["are unreadable", header(paths.check), Buffer.from("0000000001ff", "hex"), "3"],
  ]
  const json = header(paths.check, { type: "application/json" })
  const stream = { ...header(paths.watch, { type: "application/connect+json" }), "connect-content-encoding": "zip" }
  if (listener === "http") {
    open.push(["are compressed", { ...json, "content-encoding": "gzip" }, Buffer.from("{}"), "501"])
    open.push(["are streams in an unknown compression", stream, Buffer.alloc(5), "200"])
    open.push(["have an unreadable timeout", { ...json, "connect-timeout-ms": "soon" }, Buffer.from("{}"), "400"])
  }

  test.each(open)("that need no key and %s are logged in the same way", async (_, fields, body, status) => {
    expect(await endsOf(fields, body)).toEqual(new Set([`${status} NO_ERROR`]))
    await until(() => told() >= calls)
    // A call has one line.
    expect(told()).toBe(calls)
  })

  test("because their method is unknown, in a pipeline, are logged in the same way", async () => {
    const pipeline = openBarePipeline(target.url(listener), { authorization: `Bearer ${target.keys.sessions}` })
    const requestId = crypto.randomUUID()
    const header = { "x-request-id": requestId }
    const unknown = Array.from({ length: calls }, (_, id) => ({
      id,
      method: "none",
      header,
      message: new Uint8Array(),
    }))
    pipeline.send({ calls: unknown })
    await pipeline.answers(calls)
    pipeline.cancel()
    const own = () => lines().filter(({ request_id }) => request_id === requestId)
    await until(() => own().length > 0)
    expect(own()[0]).toMatchObject({ transport: "pipeline", code: "UNIMPLEMENTED", msg: "call rejected" })
  })
})
