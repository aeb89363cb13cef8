import type { AttackFigure, AttackResults } from "../results.ts"
import { count, machineText, short, table } from "./markdown.ts"

/** What a service may take at the most during an attack, in MiB more than before, and how long health may take. */
const limits = { growth: { withoutKey: 64, withKey: 256 }, healthMs: 250 }

/** The table of `make attack`. */
export function attackReport({ facts, memoryMib, seconds, connections, afterSeconds, attacks }: AttackResults): string {
  const { withoutKey, withKey } = limits.growth
  return [
    `${machineText(facts)}, SQLite${memoryMib === undefined ? "" : `, in a cgroup of ${memoryMib} MiB`}.`,
    `${connections} connections, ${seconds} seconds each. What is held to: ${withoutKey} MiB more than before without a key, ` +
      `${withKey} MiB with a key of one scope, ${limits.healthMs} ms for health, and nothing left ${afterSeconds} seconds later.`,
    table(
      ["", "key", "seconds", "opened", "growth, MiB", "health: worst, ms", "failed", "left", ""],
      attacks.map((figure) => {
        const { name, hasKey, seconds, begun, health, left } = figure
        const numbers = [seconds, begun].map(count)
        const seen = [short(growth(figure)), short(health.worst), count(health.failed), count(left)]
        return [name, hasKey ? "one scope" : "", ...numbers, ...seen, holds(figure) ? "held" : "**not held**"]
      }),
    ),
  ].join("\n\n")
}

/** Whether a service held against an attack. */
export function holds(figure: AttackFigure): boolean {
  const { hasKey, health, left } = figure
  const most = hasKey ? limits.growth.withKey : limits.growth.withoutKey
  return growth(figure) <= most && health.worst <= limits.healthMs && health.failed === 0 && left === 0
}

const growth = ({ idleBytes, peakBytes }: AttackFigure) => (peakBytes - idleBytes) / 2 ** 20
