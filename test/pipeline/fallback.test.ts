import { type Http2Proxy, http2Proxy, type Passage } from "@authwire/test-support/connections/http2-proxy.js"
import { outcome, type PipelineClient, pipelineClient, tally } from "@authwire/test-support/connections/pipeline.js"
import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { until } from "@authwire/test-support/until.js"
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals"

const target = serviceDatabase()

describe("a client behind a proxy, with a server", () => {
  let proxy: Http2Proxy
  let client: PipelineClient
  let laterMs = 0
  const authwire = useAuthwire(target, { args: ["--log-level=warn"] })
  beforeEach(async () => {
    proxy = await http2Proxy(authwire.server.grpcUrl)
    // The wall clock is constant, so that a busy machine does not look like one that was suspended.
    const timeoutMs = 30_000
    client = pipelineClient({ url: proxy.url, timeoutMs, now: () => performance.now() + laterMs, wallClock: () => 0 })
  })
  afterEach(async () => {
    client.close()
    await proxy.close()
  })

  const read = () => outcome(client.adapter.getUser("nobody"))
  const write = () => outcome(client.adapter.createUser({ name: "n", emailVerified: null } as never))
  const both = async (count: number) =>
    tally(await Promise.all(Array.from({ length: count }, (_, index) => (index % 2 === 0 ? read() : write()))))

  const rejections: Passage[] = ["unknown", "garbled", 404, 502, 503, 403]
  test.each(rejections)(
    "that rejects pipelines (%s) gets separate calls, and later another pipeline",
    async (passage) => {
      proxy.passage = passage
      expect(await both(100)).toEqual({ OK: 100 })
      for (let count = 0; count < 20; count++) expect(await both(1)).toEqual({ OK: 1 })
      expect(proxy.counts.others).toBe(120)
      expect(proxy.counts.pipelines).toBeLessThan(10)

      proxy.passage = "passed"
      laterMs += 61_000
      expect(await both(1)).toEqual({ OK: 1 })
      await until(async () => {
        const before = proxy.counts.others
        expect(await both(10)).toEqual({ OK: 10 })
        return proxy.counts.others === before
      })
    },
  )

  test("that swallows pipelines delays one call, and later tries delay none", async () => {
    proxy.passage = "swallowed"
    const start = performance.now()
    expect(await both(100)).toEqual({ OK: 100 })
    expect(performance.now() - start).toBeGreaterThan(1_900)
    let slowest = 0
    const twenty = async () => {
      for (let count = 0; count < 20; count++) {
        const since = performance.now()
        expect(await both(1)).toEqual({ OK: 1 })
        slowest = Math.max(slowest, performance.now() - since)
      }
    }
    await twenty()
    laterMs += 6_000
    await twenty()
    // No call waits for the two seconds that the service has to accept a pipeline.
    expect(slowest).toBeLessThan(1_900)
    expect(proxy.counts).toEqual({ pipelines: 2, others: 140 })
  })

  test.each(["reset", "goaway", "close"] as const)(
    "that ends pipelines (%s) causes no lost read and no repeated write; the next calls use a new pipeline",
    async (by) => {
      const before = await users()
      const ends: string[] = []
      const rounds = Array.from({ length: 32 }, () => 0)
      let stopped = false
      const callers = rounds.map(async (_, caller) => {
        while (!stopped) {
          expect(await read()).toBe("OK")
          ends.push(await write())
          rounds[caller]!++
        }
      })
      for (let count = 1; count <= 6; count++) {
        // Each caller whose call was lost has had a response since then.
        const reached = rounds.map((round) => round + 2)
        await until(
          () => proxy.counts.pipelines === count && rounds.every((round, caller) => round >= reached[caller]!),
        )
        if (count < 6) proxy.cut(by)
      }
      stopped = true
      await Promise.all(callers)
      expect(proxy.counts.others).toBe(0)
      const { OK = 0, UNAVAILABLE = 0, ...others } = tally(ends)
      expect(others).toEqual({})
      if (by === "goaway") expect(UNAVAILABLE).toBe(0)
      const rows = (await users()) - before
      expect(rows).toBeGreaterThanOrEqual(OK)
      expect(rows).toBeLessThanOrEqual(OK + UNAVAILABLE)
    },
  )

  async function users(): Promise<number> {
    return Number((await authwire.database.query("SELECT COUNT(*) AS n FROM users"))[0]?.n)
  }
})
