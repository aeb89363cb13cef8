import type { Held, SoakResults } from "../results.ts"
import { count, factsText } from "./markdown.ts"
import { growth, type Measured, measuredTable } from "./measured.ts"

const sides = ["server", "client"] as const

/** Returns the tables of `make soak`. */
export function soakReport(results: SoakResults): string {
  const { facts, minutes, calls } = results
  return [
    factsText(facts),
    `${minutes} minutes of all operations, 32 at a time, through the pipeline: ${count(calls)} calls, none of which failed.`,
    measuredTable(leaksOf(results)),
  ].join("\n\n")
}

/** Returns what was left at the end, and of calls that were cancelled. */
function leaksOf({ samples, cancelled }: SoakResults): Measured[] {
  return sides.flatMap((side): Measured[] => {
    const { before, after } = cancelled[side]
    const left = Math.max(0, after.heapUsed - before.heapUsed) / cancelled.calls
    return [
      [
        `heap of the ${side} in the last third, relative to the first third after warm-up`,
        growth(samples.map((sample) => sample[side])),
      ],
      [`bytes that the heap keeps per cancelled call in the ${side}`, left],
      [`open handles that cancelled calls leave in the ${side}`, handles(after) - handles(before)],
    ]
  })
}

const handles = (held: Held) => Object.values(held.handles).reduce((sum, count) => sum + count, 0)
