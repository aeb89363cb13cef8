import { setTimeout as delay } from "node:timers/promises"
import { describe, expect, test } from "@jest/globals"
import { closedLoop } from "./closed-loop.ts"

describe("closedLoop", () => {
  test("makes as many calls at a time as there are callers, and counts those of the window", async () => {
    let now = 0
    let most = 0
    const call = async () => {
      most = Math.max(most, ++now)
      await delay(5)
      now--
    }
    const window = await closedLoop({
      call,
      callers: 4,
      warmUpMs: 50,
      windowMs: 60_000,
      calls: 200,
      pids: [process.pid],
    })
    expect(most).toBe(4)
    expect(now).toBe(0)
    expect(window.calls).toBeGreaterThan(4)
    expect(window.throughput).toBeCloseTo(window.calls / window.seconds)
    expect(window.p50).toBeGreaterThanOrEqual(4)
    expect(window.p99).toBeGreaterThanOrEqual(window.p50)
    expect(window.clientCpu).toBeGreaterThan(0)
    expect(window.serverCpu).toHaveLength(1)
  })

  test("ends after so many calls, if it is told to", async () => {
    const window = await closedLoop({
      call: () => delay(1),
      callers: 2,
      warmUpMs: 0,
      windowMs: 60_000,
      calls: 100,
      pids: [],
    })
    // The first call only opens the window.
    expect(window.calls).toBe(99)
    expect(window.seconds).toBeLessThan(60)
  })

  test("fails with the first call that fails", async () => {
    const call = async () => {
      throw new Error("rejected")
    }
    await expect(closedLoop({ call, callers: 3, warmUpMs: 0, windowMs: 1_000, pids: [] })).rejects.toThrow("rejected")
  })
})
