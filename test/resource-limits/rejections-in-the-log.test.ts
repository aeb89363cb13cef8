import { header, paths } from "@authwire/test-support/attack/requests.js"
import { attackConnection, endOf } from "@authwire/test-support/attack/streams.js"
import { listeners, startTarget, type Target } from "@authwire/test-support/attack/target.js"
import { openBarePipeline } from "@authwire/test-support/connections/bare-pipeline.js"
import { staticKey } from "@authwire/test-support/processes/server.js"
import { logOf } from "@authwire/test-support/processes/workers.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals"
import { limits } from "../../server/src/transport/limits.js"

const calls = 1_000

/** A log line that counts rejected calls. */
interface Counted {
  rejected?: { calls: number }[]
}

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

  const lines = () => logOf(target.server).slice(before)
  const isOfAudit = ({ event }: Record<string, unknown>) => event === "audit"
  /** The number of calls in the log, as lines of their own or in counts. */
  const told = () =>
    lines()
      .filter((line) => !isOfAudit(line))
      .reduce((sum, line) => {
        const { rejected } = line as Counted
        return sum + (rejected?.reduce((all, { calls }) => all + calls, 0) ?? (line.code === undefined ? 0 : 1))
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
    const key = keyOf()
    const line = async () => {
      for (let made = 0; made < calls / 4; ) {
        // The limit of a connection without a valid key.
        const connection = attackConnection(target.url(listener))
        for (let count = 0; count < limits.unauthenticatedRequests && made < calls / 4; count++, made++) {
          const end = await endOf(connection.open(header(paths.getUser, { key }), Buffer.alloc(5)))
          expect(end).toBe(`${status} NO_ERROR`)
        }
        connection.close()
      }
    }
    await Promise.all([1, 2, 3, 4].map(line))
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
