import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { contenders } from "./contenders/contenders.ts"
import type { Figure } from "./load/turns.ts"
import { trialFolder } from "./results.ts"

/** The maximum ratio of a floor's throughput in the fastest run of the day to that in a run whose results are kept. */
const most = 1.15

/** The throughput of the floors in the fastest run of a day, in calls per second. */
interface Day {
  date: string
  fastest: Record<string, number>
}

/**
 * Returns descriptions of the floors that are slower than in another run of the same day. If there are none, the
 * machine is at its usual speed. The floors are measured with one caller and with 32. The fastest values are stored in
 * build/bench.
 */
export function slowFloors(
  figures: readonly Figure[],
  date = new Date().toISOString().slice(0, 10),
  file = new URL("floors.json", trialFolder),
): string[] {
  let day: Day = { date, fastest: {} }
  try {
    const kept: Day = JSON.parse(readFileSync(file, "utf8"))
    if (kept.date === date) day = kept
  } catch {
    // This is the first run.
  }
  const slow: string[] = []
  for (const { name, callers, throughput } of figures) {
    const floor = contenders[name as keyof typeof contenders]
    if (!floor.isFloor || (callers !== 1 && callers !== 32)) continue
    const key = `${floor.title}, ${callers} at a time`
    const fastest = Math.max(throughput, day.fastest[key] ?? 0)
    if (fastest > most * throughput) slow.push(`${key}: ${throughput} calls/s, ${fastest} earlier today`)
    day.fastest[key] = fastest
  }
  mkdirSync(new URL(".", file), { recursive: true })
  writeFileSync(file, `${JSON.stringify(day, null, 1)}\n`)
  return slow
}
