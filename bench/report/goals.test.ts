import { describe, expect, test } from "@jest/globals"
import type { Figure } from "../load/turns.ts"
import type { FloodResults, SoakResults, WireResults } from "../results.ts"
import { floodGoals, ratio, soakGoals, wireGoals } from "./goals.ts"

function figure(name: string, callers: number, p50: number[], throughput: number[]): Figure {
  const figures = { p50: 0, p99: 0, throughput: 0, clientCpu: 0, serverCpu: [] }
  return { operation: "getSessionAndUser", name, callers, ...figures, rounds: { p50, p99: p50, throughput } }
}

const results = (parts: Partial<WireResults>) =>
  ({ operations: [], growth: [], memory: [], workers: [], ...parts }) as unknown as WireResults

describe("ratio", () => {
  test("compares within a round: a slow moment counts on both sides", () => {
    expect(ratio([2, 20, 2], [1, 10, 1])).toBe(2)
  })

  test("is the median over the rounds", () => {
    expect(ratio([1, 2, 9], [1, 1, 1])).toBe(2)
  })
})

describe("wireGoals", () => {
  test("a goal is met from its limit on", () => {
    const operations = [
      figure("authwire-pipeline", 32, [1], [150]),
      figure("drizzle", 32, [1], [100]),
      figure("authwire-pipeline", 1, [1.3], [1]),
      figure("drizzle", 1, [1], [1]),
    ]
    expect(wireGoals(results({ operations })).map(({ goal, measured, met }) => [goal, measured, met])).toEqual([
      ["≥ 1.5", 1.5, true],
      ["≤ 1.25", 1.3, false],
    ])
  })

  test("the floors are added up round by round", () => {
    const operations = [
      figure("authwire-pipeline", 1, [13, 130], [1, 1]),
      figure("echo-stream", 1, [4, 40], [1, 1]),
      figure("statement", 1, [6, 60], [1, 1]),
    ]
    const [goal] = wireGoals(results({ operations }))
    expect(goal).toMatchObject({ goal: "≤ 1.3", measured: 1.3, met: true })
  })

  test("growth compares the most users with the least", () => {
    const growth = [
      figure("10000", 1, [1], [100]),
      figure("100000", 1, [5], [1]),
      figure("1000000", 1, [1.1], [100]),
      figure("10000", 32, [1], [100]),
      figure("1000000", 32, [1], [80]),
    ]
    expect(wireGoals(results({ growth })).map(({ measured, met }) => [measured, met])).toEqual([
      [1.1, true],
      [1.25, false],
    ])
  })

  test("what was not measured has no goal", () => {
    expect(wireGoals(results({}))).toEqual([])
  })
})

describe("soakGoals", () => {
  const held = (heapUsed: number, sockets: number) => ({ heapUsed, handles: { TCPSocketWrap: sockets, Timeout: 1 } })
  const soak = (heap: (sample: number) => number, left: number) =>
    ({
      failures: 0,
      samples: Array.from({ length: 50 }, (_, sample) => ({ server: heap(sample), client: 100 })),
      cancelled: {
        calls: 1_000,
        server: { before: held(1_000, 3), after: held(1_000 + left * 1_000, left > 20 ? 4 : 3) },
        client: { before: held(1_000, 1), after: held(900, 1) },
      },
    }) as unknown as SoakResults

  test("are met by a heap that grows only while it warms up", () => {
    expect(soakGoals(soak((sample) => Math.min(100, 50 + sample * 5), 0)).every(({ met }) => met)).toBe(true)
  })

  test("are not met by a heap that goes on growing, nor by what cancelled calls leave", () => {
    const missed = soakGoals(soak((sample) => 100 + sample, 100)).filter(({ met }) => !met)
    expect(missed.map(({ what }) => what)).toEqual([
      "heap of the server, last third to first third after warm-up",
      "bytes that a cancelled call leaves in the server",
      "open handles of the server that cancelled calls leave",
    ])
  })
})

describe("floodGoals", () => {
  const seen = { quietP99: 2, p99: 19, worst: 900, failed: 0, backAfter: 1.5 }
  const flood = (worse: object, bytes: (second: number) => number) =>
    ({
      seconds: 60,
      rss: Array.from({ length: 65 }, (_, second) => ({ seconds: second + 1, bytes: bytes(second) })),
      seen: { pipeline: seen, unary: seen, connect: seen, "gRPC health": seen, "/healthz": { ...seen, ...worse } },
    }) as unknown as FloodResults

  test("are met by a service that bears it", () => {
    expect(floodGoals(flood({}, (second) => Math.min(400, 300 + 20 * second))).every(({ met }) => met)).toBe(true)
  })

  test("are not met by slow health, a failure, a late recovery, or memory that grows", () => {
    const missed = floodGoals(flood({ worst: 1_100, failed: 1, backAfter: null }, (second) => 300 + 5 * second))
    expect(missed.filter(({ met }) => !met).map(({ what }) => what)).toEqual([
      "/healthz: the longest wait, seconds",
      "calls and questions beside it that failed otherwise",
      "all is as before after so many seconds",
      "memory of the server, last third to first third after warm-up",
    ])
  })

  test("are not met by calls that wait too long", () => {
    const results = flood({}, () => 300)
    results.seen.unary = { ...seen, p99: 21 } as FloodResults["seen"]["unary"]
    expect(floodGoals(results).filter(({ met }) => !met)).toMatchObject([{ measured: 10.5 }])
  })
})
