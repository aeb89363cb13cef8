import type { Held, SoakResults } from "../results.ts"
import { atMost, type Goal, goalsTable, growth } from "./goals.ts"
import { count, factsText } from "./markdown.ts"

const sides = ["server", "client"] as const

/**
 * The maximum ratio of the heap at the end to that after the warm-up, and the maximum number of bytes that remain of a
 * cancelled call.
 */
const flat = 1.05
const bytesPerCancelled = 20

/** Returns the tables of `make soak`. */
export function soakReport(results: SoakResults): string {
  const { facts, minutes, calls } = results
  return [
    factsText(facts),
    `${minutes} minutes of all operations, 32 at a time, through the pipeline: ${count(calls)} calls, none of which failed.`,
    goalsTable(soakGoals(results)),
  ].join("\n\n")
}

/** Returns the goals about leaks. */
export function soakGoals({ samples, cancelled }: SoakResults): Goal[] {
  const goalsOf = (side: (typeof sides)[number]) => {
    const { before, after } = cancelled[side]
    const left = Math.max(0, after.heapUsed - before.heapUsed) / cancelled.calls
    return [
      atMost(
        `heap of the ${side} in the last third, relative to the first third after warm-up`,
        flat,
        growth(samples.map((sample) => sample[side])),
      ),
      atMost(`bytes that the heap keeps per cancelled call in the ${side}`, bytesPerCancelled, left),
      atMost(`open handles that cancelled calls leave in the ${side}`, 0, handles(after) - handles(before)),
    ]
  }
  return sides.flatMap(goalsOf)
}

const handles = (held: Held) => Object.values(held.handles).reduce((sum, count) => sum + count, 0)
