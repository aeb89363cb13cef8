import { describe, expect, test } from "@jest/globals"
import { type Probe, seen } from "./probes.js"

const end = 1_000_000
/** Returns one call every 10 ms between two times relative to `end`, all with the same duration and outcome. */
const calls = (from: number, to: number, ms: number, how: Probe[3] = "ok"): Probe[] =>
  Array.from({ length: (to - from) / 10 }, (_, index) => ["unary", end + from + index * 10, ms, how])

describe("seen", () => {
  const quiet = calls(-9_000, -8_000, 2)

  test("tells times of what was answered, and counts the rest", () => {
    const flood = [...calls(-5_000, -3_000, 4), ...calls(-3_000, -2_000, 90, "rejected"), ...calls(-2_000, -1_990, 50)]
    const other: Probe = ["connect", end - 10, 1_000, "failed"]
    expect(seen("unary", quiet, [...flood, other, ...calls(0, 1_000, 2)], end)).toEqual({
      ...{ count: 301, rejected: 100, failed: 0, backAfter: 0.5 },
      ...{ quietP50: expect.closeTo(2), quietP99: expect.closeTo(2) },
      ...{ p50: expect.closeTo(4), p99: expect.closeTo(4), worst: expect.closeTo(50, 0) },
    })
  })

  test("all is as before once nothing is rejected and nothing is slower", () => {
    const back = (after: Probe[]) => seen("unary", quiet, after, end).backAfter
    expect(back([...calls(0, 740, 3), ...calls(740, 3_000, 2)])).toBe(1.25)
    expect(back([...calls(0, 1_000, 1, "rejected"), ...calls(1_000, 3_000, 2)])).toBe(1.5)
    expect(back(calls(0, 3_000, 3))).toBeNull()
  })
})
