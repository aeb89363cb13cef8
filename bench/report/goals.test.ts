import { describe, expect, test } from "@jest/globals"
import type { Figure } from "../load/turns.ts"
import type { FloodFigure, SoakResults, WireResults } from "../results.ts"
import { floodGoals } from "./flood.ts"
import { growth, ratio } from "./goals.ts"
import { soakGoals } from "./soak.ts"
import { wireGoals } from "./wire.ts"

function figure(name: string, callers: number, p50: number[], throughput: number[]): Figure {
  const figures = { p50: 0, p99: 0, throughput: 0, clientCpu: 0, serverCpu: [] }
  return { operation: "getSessionAndUser", name, callers, ...figures, rounds: { p50, p99: p50, throughput } }
}

const wire = (parts: Partial<WireResults>) =>
  wireGoals({ operations: [], growth: [], ...parts } as unknown as WireResults)

test("a ratio compares within a round, and is the median over the rounds", () => {
  expect(ratio([2, 20, 2], [1, 10, 1])).toBe(2)
  expect(ratio([1, 2, 9], [1, 1, 1])).toBe(2)
})

test("what grows only while it warms up does not grow", () => {
  const values = (value: (index: number) => number) => Array.from({ length: 50 }, (_, index) => value(index))
  expect(growth(values((index) => Math.min(100, 50 + index * 5)))).toBe(1)
  expect(growth(values((index) => 100 + index))).toBeGreaterThan(1.1)
})

describe("goals of the wire", () => {
  test("are met from their limit on", () => {
    const operations = [
      figure("authwire-pipeline", 32, [1], [250]),
      figure("drizzle", 32, [1], [100]),
      figure("authwire-pipeline", 1, [1.1], [1]),
      figure("rest", 1, [1], [1]),
    ]
    expect(wire({ operations }).map(({ goal, measured, met }) => [goal, measured, met])).toEqual([
      ["≥ 2.5", 2.5, true],
      ["≤ 1.05", 1.1, false],
      ["≤ 2", 1.1, true],
    ])
  })

  test("compare the most users with the least, and are only about what was measured", () => {
    const growth = [
      figure("10000", 1, [1], [100]),
      figure("100000", 1, [5], [1]),
      figure("1000000", 1, [1.1], [100]),
      figure("10000", 32, [1], [100]),
      figure("1000000", 32, [1], [80]),
    ]
    expect(wire({ growth }).map(({ measured, met }) => [measured, met])).toEqual([
      [1.1, true],
      [1.25, false],
    ])
    expect(wire({})).toEqual([])
  })
})

test("a soak does not bear a heap that grows, nor what cancelled calls leave", () => {
  const held = (heapUsed: number, sockets: number) => ({ heapUsed, handles: { TCPSocketWrap: sockets, Timeout: 1 } })
  const soak = (heap: (sample: number) => number, left: number) =>
    soakGoals({
      samples: Array.from({ length: 50 }, (_, sample) => ({ server: heap(sample), client: 100 })),
      cancelled: {
        calls: 1_000,
        server: { before: held(1_000, 3), after: held(1_000 + left * 1_000, left > 20 ? 4 : 3) },
        client: { before: held(1_000, 1), after: held(900, 1) },
      },
    } as unknown as SoakResults).filter(({ met }) => !met)
  expect(soak(() => 100, 20)).toEqual([])
  expect(soak((sample) => 100 + sample, 100).map(({ what }) => what)).toEqual([
    "heap of the server in the last third, relative to the first third after warm-up",
    "bytes that the heap keeps per cancelled call in the server",
    "open handles that cancelled calls leave in the server",
  ])
})

test("a flood is not borne by slow calls or health, a rejection, a failure, a late recovery, or memory that grows", () => {
  const seen = { p99: 249, worst: 900, rejected: 0, failed: 0, backAfter: 1.5 }
  const flood = (calls: object, health: object, mostBytes: number) =>
    floodGoals({
      ...{ quietBytes: 100, mostBytes },
      seen: {
        ...{ pipeline: seen, unary: { ...seen, ...calls }, connect: seen },
        ...{ "gRPC health": seen, "/healthz": { ...seen, ...health } },
      },
    } as unknown as FloodFigure).filter(({ met }) => !met)
  expect(flood({}, {}, 125)).toEqual([])
  const missed = flood({ p99: 251, rejected: 1 }, { worst: 1_100, failed: 1, backAfter: null }, 126)
  expect(missed.map(({ what, measured }) => [what, measured])).toEqual([
    ["unary: p99 of the application's calls, ms", 251],
    ["/healthz: the slowest health check, ms", 1_100],
    ["the application's calls and health checks that were rejected or failed", 2],
    ["seconds until all durations are as before the flood", Number.POSITIVE_INFINITY],
    ["peak memory of the service, relative to before the flood", 1.26],
  ])
})
