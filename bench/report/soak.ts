import type { Held, SoakResults } from "../results.ts"
import { soakGoals } from "./goals.ts"
import { count, mebibytes, table } from "./markdown.ts"
import { plotLines } from "./plots.ts"
import { factsText, goalsTable } from "./wire.ts"

/** The tables of `make soak`. */
export function soakReport(results: SoakResults): string {
  const { facts, minutes, calls, failures, cancelled } = results
  const held = (["server", "client"] as const).map((side) => {
    const { before, after } = cancelled[side]
    return [side, ...[mebibytes(before.heapUsed), mebibytes(after.heapUsed), kinds(before), kinds(after)]]
  })
  return [
    factsText(facts),
    `${minutes} minutes of all operations, 32 at a time, through the pipeline: ${count(calls)} calls, ${count(failures)} failed.`,
    goalsTable(soakGoals(results)),
    "![heap by minutes](performance/soak.svg)",
    `Before and after ${count(cancelled.calls)} calls that were cancelled:`,
    table(["", "heap before", "heap after", "handles before", "handles after"], held),
  ].join("\n\n")
}

const kinds = ({ handles }: Held) =>
  Object.entries(handles)
    .map(([kind, count]) => `${count} ${kind}`)
    .join(", ")

/** The heap curves. */
export async function soakPlots({ samples }: SoakResults): Promise<void> {
  await plotLines("soak", {
    title: "Heap after a collection, under load",
    x: "minutes",
    y: "MiB",
    marks: false,
    points: samples.flatMap(({ seconds, server, client }) => [
      { x: seconds / 60, y: server / 2 ** 20, line: "server" },
      { x: seconds / 60, y: client / 2 ** 20, line: "client" },
    ]),
  })
}
