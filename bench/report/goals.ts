import { watched } from "../load/probes.ts"
import { median } from "../load/statistics.ts"
import type { Figure } from "../load/turns.ts"
import type { FloodResults, Held, SoakResults, WireResults } from "../results.ts"

/** Something that must be so, and whether it is. */
export interface Goal {
  what: string
  /** `≥ 1.5`, `≤ 0.7`. */
  goal: string
  measured: number
  met: boolean
}

type Rounds = readonly number[]

/** The median of the ratios of each round: what slowed one side of a round slowed the other too. */
export function ratio(one: Rounds, other: Rounds): number {
  return median(one.slice(0, other.length).map((value, round) => value / (other[round] ?? Number.NaN)))
}

/** The goals about figures; those whose figures are not there are left out. */
export function wireGoals({ operations, growth, workers, access = [] }: WireResults): Goal[] {
  const session = (name: string, callers: number) => find(operations, "getSessionAndUser", name, callers)
  const goals: (Goal | undefined)[] = []

  for (const [name, title, throughput, latency] of peers) {
    const pair32 = both(session("authwire-pipeline", 32), session(name, 32))
    const pair1 = both(session("authwire-pipeline", 1), session(name, 1))
    goals.push(
      pair32 &&
        atLeast(`calls/s at 32 callers, to ${title}`, throughput, ratio(pair32[0].throughput, pair32[1].throughput)),
      pair1 && atMost(`p50 with one caller, to ${title}`, latency, ratio(pair1[0].p50, pair1[1].p50)),
    )
  }

  const floors = both(session("echo-stream", 1), session("statement", 1))
  const pipeline = session("authwire-pipeline", 1)
  if (floors && pipeline) {
    const sum = floors[0].p50.map((value, round) => value + (floors[1].p50[round] ?? Number.NaN))
    goals.push(
      atMost("p50 with one caller, to the sum of stream echo and statement", 1.3, ratio(pipeline.rounds.p50, sum)),
    )
  }

  const sizes = [...new Set(growth.map(({ name }) => Number(name)))].toSorted((one, other) => one - other)
  const [least, most] = [String(sizes.at(0)), String(sizes.at(-1))]
  for (const operation of new Set(growth.map((figure) => figure.operation))) {
    const pair = (callers: number) =>
      both(find(growth, operation, most, callers), find(growth, operation, least, callers))
    const [one, many] = [pair(1), pair(32)]
    const what = `${operation}, ${Number(most).toLocaleString("en-US")} users to ${Number(least).toLocaleString("en-US")}`
    goals.push(
      one && atMost(`${what}: p50 with one caller`, 1.15, ratio(one[0].p50, one[1].p50)),
      many && atMost(`${what}: time of a call at 32 callers`, 1.15, ratio(many[1].throughput, many[0].throughput)),
    )
  }

  const pair = both(find(workers, "getSessionAndUser", "2", 32), find(workers, "getSessionAndUser", "1", 32))
  goals.push(pair && atLeast("calls/s of two workers, to one", 1, ratio(pair[0].throughput, pair[1].throughput)))

  for (const [callers, what] of [
    [1, "p50 with one caller"],
    [32, "time of a call at 32 callers"],
  ] as const) {
    const pair = both(
      find(access, "getSessionAndUser", "checked", callers),
      find(access, "getSessionAndUser", "unchecked", callers),
    )
    if (pair === undefined) continue
    const [checked, unchecked] = pair
    const measured = callers === 1 ? ratio(checked.p50, unchecked.p50) : ratio(unchecked.throughput, checked.throughput)
    goals.push(atMost(`key, scope and rate checked, to nothing checked: ${what}`, 1.05, measured))
  }
  return goals.filter((goal) => goal !== undefined)
}

const peers = [
  ["drizzle", "@auth/drizzle-adapter", 1.5, 1.25],
  ["typeorm", "@auth/typeorm-adapter", 3, 0.7],
  ["rest", "the adapter by hand", 1.8, 0.7],
] as const

/** How much larger a heap may be at the end than after the warm-up, and how many bytes a cancelled call may leave. */
const flat = 1.05
const bytesPerCancelled = 20

/** How many handles are open, of all kinds. */
export const handles = (held: Held) => Object.values(held.handles).reduce((sum, count) => sum + count, 0)

/** The goals about leaks. The first fifth of the time is warm-up. */
export function soakGoals({ samples, cancelled, failures }: SoakResults): Goal[] {
  const rest = samples.slice(Math.floor(samples.length / 5))
  const third = Math.max(1, Math.floor(rest.length / 3))
  const growth = (of: (sample: SoakResults["samples"][number]) => number) =>
    median(rest.slice(-third).map(of)) / median(rest.slice(0, third).map(of))
  const left = ({ before, after }: SoakResults["cancelled"]["server"]) =>
    Math.max(0, after.heapUsed - before.heapUsed) / cancelled.calls
  return [
    atMost("calls that failed", 0, failures),
    atMost(
      "heap of the server, last third to first third after warm-up",
      flat,
      growth(({ server }) => server),
    ),
    atMost(
      "heap of the client, last third to first third after warm-up",
      flat,
      growth(({ client }) => client),
    ),
    atMost("bytes that a cancelled call leaves in the server", bytesPerCancelled, left(cancelled.server)),
    atMost("bytes that a cancelled call leaves in the client", bytesPerCancelled, left(cancelled.client)),
    ...(["server", "client"] as const).map((side) =>
      atMost(
        `open handles of the ${side} that cancelled calls leave`,
        0,
        handles(cancelled[side].after) - handles(cancelled[side].before),
      ),
    ),
  ]
}

/** The goals about a flood: what others see of it, and what it leaves. The first fifth of the time is warm-up. */
export function floodGoals({ seen, rss, seconds }: FloodResults): Goal[] {
  const during = rss.filter((sample) => sample.seconds <= seconds).map(({ bytes }) => bytes)
  const rest = during.slice(Math.floor(during.length / 5))
  const third = Math.max(1, Math.floor(rest.length / 3))
  const calls = ["pipeline", "unary", "connect"] as const
  const back = watched.map((what) => seen[what].backAfter ?? Number.POSITIVE_INFINITY)
  return [
    ...calls.map((way) =>
      atMost(`p99 of the calls let in, times that before, ${way}`, 10, seen[way].p99 / seen[way].quietP99),
    ),
    ...(["gRPC health", "/healthz"] as const).map((what) =>
      atMost(`${what}: the longest wait, seconds`, 1, seen[what].worst / 1000),
    ),
    atMost(
      "calls and questions beside it that failed otherwise",
      0,
      watched.reduce((sum, what) => sum + seen[what].failed, 0),
    ),
    atMost("all is as before after so many seconds", 2, Math.max(...back)),
    atMost(
      "memory of the server, last third to first third after warm-up",
      1.1,
      median(rest.slice(-third)) / median(rest.slice(0, third)),
    ),
  ]
}

function find(figures: readonly Figure[], operation: string, name: string, callers: number): Figure | undefined {
  return figures.find((figure) => figure.operation === operation && figure.name === name && figure.callers === callers)
}

function both(one: Figure | undefined, other: Figure | undefined) {
  return one && other && ([one.rounds, other.rounds] as const)
}

const atLeast = (what: string, goal: number, measured: number): Goal => ({
  what,
  goal: `≥ ${goal}`,
  measured,
  met: measured >= goal,
})

const atMost = (what: string, goal: number, measured: number): Goal => ({
  what,
  goal: `≤ ${goal}`,
  measured,
  met: measured <= goal,
})
