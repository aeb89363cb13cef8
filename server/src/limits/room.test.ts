import { describe, expect, test } from "@jest/globals"
import { room } from "./room.js"

/** A service that answers `perMs` calls a millisecond, one after the other, and a clock that goes as it is told. */
function service({ perMs = 10, maxCalls = 2000, delayMs = 500, minCalls = 20 } = {}) {
  let now = 0
  const bounds = room({ maxCalls, delayMs, minCalls, now: () => now })
  const underWay: number[] = []
  let rest = 0
  let stuck = 0
  const seen = { entered: 0, refused: 0, delays: [] as number[] }
  return {
    /** So many milliseconds of load. */
    run(ms: number, offeredPerMs: number, pace = perMs) {
      const before = { ...seen, from: seen.delays.length }
      for (const end = now + ms; now < end; ) {
        for (let offered = 0; offered < offeredPerMs; offered++) {
          if (bounds.enter()) {
            seen.entered++
            underWay.push(now)
          } else seen.refused++
        }
        now++
        for (rest += pace; rest >= 1; rest--) {
          const begun = underWay.shift()
          if (begun === undefined) {
            rest = 0
            break
          }
          bounds.leave()
          seen.delays.push(now - begun)
        }
      }
      const delays = seen.delays.slice(before.from).sort((a, b) => a - b)
      return {
        entered: seen.entered - before.entered,
        refused: seen.refused - before.refused,
        p99: delays[Math.floor(delays.length * 0.99)] ?? Number.NaN,
      }
    },
    /** So many calls at once. @returns how many are let in. */
    burst(count: number) {
      let entered = 0
      for (let call = 0; call < count; call++) {
        if (!bounds.enter()) continue
        entered++
        underWay.push(now)
      }
      return entered
    },
    /** Calls that never end. */
    stick(count: number) {
      for (; stuck < count; stuck++) bounds.enter()
    },
    wait(ms: number) {
      now += ms
    },
  }
}

describe("room", () => {
  test("refuses nobody below what the service can answer", () => {
    const { run } = service()
    expect(run(5_000, 9)).toMatchObject({ entered: 45_000, refused: 0 })
  })

  test("a burst up to the bound is let in, and one call more is refused", () => {
    expect(service().burst(2000)).toBe(2000)
    expect(service().burst(2001)).toBe(2000)
  })

  test("a short stop of everything is no overload", () => {
    const { run } = service()
    run(1_000, 5)
    expect(run(390, 5, 0).refused).toBe(0)
    expect(run(1_000, 5).refused).toBe(0)
  })

  test("under twenty times the load calls take a hundred-and-twenty-fifth of the delay, and the service is not idle", () => {
    const { run } = service()
    run(1_000, 8)
    // Until it is noticed.
    run(500, 200)
    const flood = run(10_000, 200)
    expect(flood.p99).toBeLessThanOrEqual(5)
    expect(flood.entered).toBeGreaterThan(0.9 * 10 * 10_000)
  })

  test("a little too much load waits as long as the bound lets it", () => {
    const { run } = service()
    run(1_000, 12)
    const { p99, entered } = run(20_000, 12)
    expect(p99).toBe(200)
    expect(entered).toBe(10 * 20_000)
  })

  test("what takes too long for too long is refused before the bound is reached", () => {
    const { run } = service({ perMs: 1, maxCalls: 1_000_000 })
    expect(run(1_000, 2).refused).toBe(0)
    const { p99, entered, refused } = run(60_000, 2)
    expect(p99).toBeLessThan(1_500)
    expect(entered).toBeGreaterThan(0.9 * 60_000)
    expect(refused).toBeGreaterThan(0.9 * 60_000)
  })

  test("after the flood nobody is refused, and soon a burst is let in", () => {
    const { run, burst } = service()
    run(5_000, 200)
    // What was let in last is still being answered.
    run(20, 0)
    expect(run(3_000, 9).refused).toBe(0)
    expect(burst(1_500)).toBe(1_500)
  })

  test("a flood that comes in waves is one flood", () => {
    const { run } = service()
    run(5_000, 200)
    // As long as a client may be paused.
    expect(run(1_000, 9).refused).toBe(0)
    expect(run(1_000, 200).p99).toBeLessThanOrEqual(5)
  })

  test("a flood that is there again after a pause, in which nobody called, is not let in whole", () => {
    const { run, wait, burst } = service()
    run(1_600, 200)
    run(20, 0)
    // As long as a client may be paused.
    wait(1_000)
    expect(burst(2_000)).toBeLessThan(100)
  })

  test("who calls in bursts is no flood, though a low bound refuses them", () => {
    const { run, burst } = service()
    run(5_000, 200)
    run(20, 0)
    const entered = Array.from({ length: 5 }, () => {
      const count = burst(500)
      run(1_000, 0)
      return count
    })
    expect(entered[1]).toBeLessThan(100)
    expect(entered.slice(3)).toEqual([500, 500])
  })

  test("bursts that would not fit are a flood, however seldom they are", () => {
    const { run, burst } = service()
    run(1_000, 8)
    const entered = Array.from({ length: 60 }, () => {
      const count = burst(4_000)
      run(1_000, 8)
      return count
    })
    expect(entered[0]).toBe(2_000)
    expect(entered.filter((count) => count > 100).length).toBeLessThanOrEqual(5)
  })

  test("a flood that is there again when it is let in is let in ever more seldom", () => {
    const { run, burst } = service()
    run(5_000, 200)
    run(20, 0)
    const floods: number[] = []
    for (let second = 0; second < 60; second++) {
      if (burst(500) === 500) {
        floods.push(second)
        run(500, 200)
      }
      run(1_000, 8)
    }
    expect(floods.length).toBeLessThanOrEqual(4)
    // It is forgotten when it has been over for as long as it was waited for.
    run(60_000, 8)
    run(1_000, 200)
    run(20, 0)
    run(3_500, 8)
    expect(burst(1_500)).toBe(1_500)
  })

  test("time without calls counts: a burst after the flood and a pause is let in", () => {
    const { run, wait, burst } = service()
    run(5_000, 200)
    run(50, 0)
    wait(10_000)
    burst(1)
    expect(burst(1_500)).toBe(1_500)
  })

  test("calls that are slow by themselves are no overload", () => {
    const { stick, run, wait, burst } = service()
    stick(39)
    for (let interval = 0; interval < 20; interval++) {
      run(1, 1)
      wait(99)
    }
    expect(burst(1_500)).toBe(1_500)
  })

  test("when nothing is answered, nobody is let in beyond the least", () => {
    const { run } = service()
    const { entered, refused } = run(1_000, 1, 0)
    // After the delay it is no short stop any more.
    expect(entered).toBe(600)
    expect(refused).toBe(400)
    expect(service().run(1_000, 0, 0).refused).toBe(0)
  })

  test("who waits for something else takes no place and no time, and is there again when that has come", async () => {
    let now = 0
    const bounds = room({ maxCalls: 2, delayMs: 500, minCalls: 1, now: () => now })
    const waits = Array.from({ length: 50 }, () => {
      expect(bounds.enter()).toBe(true)
      const { promise, resolve, reject } = Promise.withResolvers<string>()
      return { away: bounds.away(promise), resolve, reject }
    })
    for (; now < 10_000; now += 50) {
      expect(bounds.enter()).toBe(true)
      bounds.leave()
    }
    for (const { resolve } of waits.slice(1)) resolve("answer")
    expect(await waits[1]?.away).toBe("answer")
    waits[0]?.reject(new Error("no answer"))
    await expect(waits[0]?.away).rejects.toThrow("no answer")
    expect(bounds.enter()).toBe(false)
    for (const _ of waits) bounds.leave()
    expect([bounds.enter(), bounds.enter(), bounds.enter()]).toEqual([true, true, false])
  })

  test("without a delay only the bound counts", () => {
    const { run } = service({ delayMs: 0 })
    run(1_000, 200)
    expect(run(1_000, 200).p99).toBe(200)
  })

  test("the least is not above the bound", () => {
    const { burst } = service({ maxCalls: 3, minCalls: 40 })
    expect(burst(10)).toBe(3)
  })
})
