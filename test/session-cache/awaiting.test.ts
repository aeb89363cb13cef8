import { describe, expect, test } from "@jest/globals"
import { cachesConfirmed } from "../../server/src/session-cache/awaiting.js"
import type { CacheReport } from "../../server/src/session-cache/hub.js"
import { Simulation } from "./simulation.js"

const never = new AbortController().signal

/** A process that reads the rows in 5 ms. */
function setUp() {
  const simulation = new Simulation(1)
  const reads: { tenant: string; at: number }[] = []
  let answer = (): CacheReport[] => []
  const confirmed = cachesConfirmed({
    reach: async () => 7n,
    async reports(tenant) {
      reads.push({ tenant, at: simulation.time })
      const rows = answer()
      await simulation.delay(5)
      return rows
    },
    now: () => simulation.time,
    pause: (ms) => simulation.delay(ms),
  })
  return {
    simulation,
    reads,
    confirmed,
    setRows(rows: () => CacheReport[]) {
      answer = rows
    },
    /** Makes a call that waits, and records when it was answered. */
    call(tenant = "t", signal: AbortSignal = never) {
      const one = { at: undefined as number | undefined, error: undefined as unknown }
      // An event of the simulation, so that its consequences are processed before time advances.
      simulation.after(0, () => {
        confirmed(tenant, signal).then(
          () => {
            one.at = simulation.time
          },
          (error: unknown) => {
            one.error = error
          },
        )
      })
      return one
    },
  }
}

describe("calls that wait for the caches", () => {
  const open: CacheReport = { leaseMs: 10_000, confirmed: 6n }

  test("share the reads of the rows: any number of calls causes as many reads as one", async () => {
    const counts: number[] = []
    for (const count of [1, 300]) {
      const { simulation, reads, setRows, call } = setUp()
      setRows(() => [open])
      // At different times: calls that arrive during a read are served by the next one.
      for (let n = 0; n < count; n++) simulation.after(n / 50, () => void call())
      await simulation.run(2_000)
      counts.push(reads.length)
    }
    const [one, many] = counts as [number, number]
    expect(one).toBeGreaterThan(50)
    expect(many).toBeLessThanOrEqual(one + 2)
  })

  test("that begin together are answered by one read", async () => {
    const { simulation, reads, confirmed } = setUp()
    const answeredAt: number[] = []
    simulation.after(0, () => {
      for (let n = 0; n < 300; n++) confirmed("t", never).then(() => answeredAt.push(simulation.time))
    })
    await simulation.run(1_000)
    expect(answeredAt).toEqual(Array(300).fill(5))
    expect(reads).toHaveLength(1)
  })

  test("are each answered by the first read after all caches have confirmed, or after the lease has expired", async () => {
    const { simulation, setRows, call } = setUp()
    let row = open
    setRows(() => [row])
    const calls = Array.from({ length: 10 }, () => call())
    simulation.after(500, () => {
      row = { ...open, confirmed: 7n }
    })
    await simulation.run(1_000)
    for (const { at } of calls) {
      expect(at).toBeGreaterThan(500)
      expect(at).toBeLessThan(550)
    }
    row = open
    const late = call()
    await simulation.run(12_000)
    expect(late.at).toBeGreaterThan(11_220)
    expect(late.at).toBeLessThan(11_280)
  })

  test("are not answered by a read that began before the call", async () => {
    const { simulation, reads, setRows, call } = setUp()
    let rows: CacheReport[] = []
    setRows(() => rows)
    const first = call()
    // The lease is granted and used during the first read.
    simulation.after(1, () => {
      rows = [open]
    })
    let second: ReturnType<typeof call> | undefined
    simulation.after(2, () => {
      second = call()
    })
    await simulation.run(1_000)
    expect(first.at).toBe(5)
    expect(second).toEqual({ at: undefined, error: undefined })
    expect(reads.map(({ at }) => at).slice(0, 2)).toEqual([0, 25])
  })

  test("end independently: the others keep waiting, and without waiting calls nothing is read", async () => {
    const { simulation, reads, setRows, call } = setUp()
    setRows(() => [open])
    const abort = [new AbortController(), new AbortController()] as const
    const calls = abort.map(({ signal }) => call("t", signal))
    await simulation.run(100)
    abort[0].abort("the first")
    await simulation.run(200)
    expect(calls).toMatchObject([{ error: "the first" }, { error: undefined }])
    abort[1].abort("the second")
    await simulation.run(300)
    expect(calls[1]).toMatchObject({ at: undefined, error: "the second" })
    const { length } = reads
    await simulation.run(1_000)
    expect(reads).toHaveLength(length)
  })

  test("wait while the rows cannot be read, and no tenant waits for another", async () => {
    const { simulation, reads, setRows, call } = setUp()
    setRows(() => {
      if (reads.at(-1)?.tenant === "t") throw new Error("the database does not answer")
      return []
    })
    const [here, there] = [call("t"), call("u")]
    await simulation.run(500)
    expect(here).toEqual({ at: undefined, error: undefined })
    expect(there.at).toBeLessThan(50)
    setRows(() => [])
    await simulation.run(1_000)
    expect(here.at).toBeLessThan(550)
  })
})
