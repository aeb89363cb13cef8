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

/** A line that counts calls that were rejected. */
interface Counted {
  rejected?: { calls: number }[]
}

describe.each(listeners)("calls that are rejected at the %s listener", (listener) => {
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
  /** How many calls the log tells of, one by one or as a number. */
  const told = () =>
    lines()
      .filter((line) => !isOfAudit(line))
      .reduce((sum, line) => {
        const { rejected } = line as Counted
        return sum + (rejected?.reduce((all, { calls }) => all + calls, 0) ?? (line.code === undefined ? 0 : 1))
      }, 0)

  // Ten a second and the line that counts; those of the first second and of the last begin and end somewhere in it.
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

  test.each(keys)("because they %s are told one by one only up to ten a second", async (_, keyOf, status) => {
    const key = keyOf()
    const line = async () => {
      for (let made = 0; made < calls / 4; ) {
        // As many as a connection takes of those without a valid key.
        const connection = attackConnection(target.url(listener))
        for (let count = 0; count < limits.strangerRequests && made < calls / 4; count++, made++) {
          const end = await endOf(connection.open(header(paths.getUser, { key }), Buffer.alloc(5)))
          expect(end).toBe(`${status} NO_ERROR`)
        }
        connection.close()
      }
    }
    await Promise.all([1, 2, 3, 4].map(line))
  })

  test("because no method has their name, in a pipeline, are told so too", async () => {
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
