import { median } from "../load/statistics.ts"
import { short, table } from "./markdown.ts"

/** What was measured, and its value. */
export type Measured = readonly [what: string, value: number]

export function measuredTable(rows: readonly Measured[]): string {
  return table(
    ["", "measured"],
    rows.map(([what, value]) => [what, short(value)]),
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
