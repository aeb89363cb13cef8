import { median } from "../load/statistics.ts"
import { short, table } from "./markdown.ts"

/** Something that must be so, and whether it is. */
export interface Goal {
  what: string
  /** `≥ 1.5`, `≤ 0.7`. */
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

export function goalsTable(goals: readonly Goal[]): string {
  return table(
    ["", "goal", "measured", ""],
    goals.map(({ what, goal, measured, met }) => [what, goal, short(measured), met ? "met" : "**not met**"]),
  )
}

/** The median of the ratios of each round: what slowed one side of a round slowed the other too. */
export function ratio(one: readonly number[], other: readonly number[]): number {
  return median(one.slice(0, other.length).map((value, round) => value / (other[round] ?? Number.NaN)))
}

/** The last third to the first third of what was seen over time, after the first fifth, which is warm-up. */
export function growth(values: readonly number[]): number {
  const warm = values.slice(Math.floor(values.length / 5))
  const third = Math.max(1, Math.floor(warm.length / 3))
  return median(warm.slice(-third)) / median(warm.slice(0, third))
}
