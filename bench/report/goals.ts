import { median } from "../load/statistics.ts"
import { short, table } from "./markdown.ts"

/** A goal, the measured value, and whether the goal is met. */
export interface Goal {
  what: string
  /** The limit, such as `≥ 1.5` or `≤ 0.7`. */
  goal: string
  measured: number
  met: boolean
}

export function atLeast(what: string, least: number, measured: number): Goal {
  return { what, goal: `≥ ${least}`, measured, met: measured >= least }
}

export function atMost(what: string, most: number, measured: number): Goal {
  return { what, goal: `≤ ${most}`, measured, met: measured <= most }
}

/** Returns what was measured. The goals themselves are for those who change the code, and not for readers of the page. */
export function goalsTable(goals: readonly Goal[]): string {
  return table(
    ["", "measured"],
    goals.map(({ what, measured }) => [what, short(measured)]),
  )
}

/**
 * Returns the median of the ratios of each round. A disturbance that slows one side of a round usually slows the other
 * side too.
 */
export function ratio(one: readonly number[], other: readonly number[]): number {
  return median(one.slice(0, other.length).map((value, round) => value / (other[round] ?? Number.NaN)))
}

/** Returns the ratio of the last third of a series to its first third. The first fifth is left out as warm-up. */
export function growth(values: readonly number[]): number {
  const warm = values.slice(Math.floor(values.length / 5))
  const third = Math.max(1, Math.floor(warm.length / 3))
  return median(warm.slice(-third)) / median(warm.slice(0, third))
}
