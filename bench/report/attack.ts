import type { AttackFigure, AttackResults } from "../results.ts"
import { count, machineText, short, table } from "./markdown.ts"

/** The limits during an attack: the growth of the service's memory in MiB, and the time of a health check. */
const limits = { growth: { withoutKey: 64, withKey: 256 }, healthMs: 250 }

/** Returns the table of `make attack`. */
export function attackReport({ facts, memoryMib, seconds, connections, afterSeconds, attacks }: AttackResults): string {
  const { withoutKey, withKey } = limits.growth
  return [
    `${machineText(facts)}, SQLite${memoryMib === undefined ? "" : `, in a cgroup of ${memoryMib} MiB`}.`,
    `${connections} connections, ${seconds} seconds each. Limits: ${withoutKey} MiB of memory growth without a key, ` +
      `${withKey} MiB with a key of one scope, ${limits.healthMs} ms for a health check, no failed health check, and no open connection ${afterSeconds} seconds later.`,
    table(
      [
        "",
        "key",
        "seconds",
        "opened",
        "memory growth, MiB",
        "slowest health check, ms",
        "failed health checks",
        "connections left open",
        "",
      ],
      attacks.map((figure) => {
        const { name, hasKey, seconds, begun, health, left } = figure
        const numbers = [seconds, begun].map(count)
        const seen = [short(growth(figure)), short(health.worst), count(health.failed), count(left)]
        return [name, hasKey ? "one scope" : "", ...numbers, ...seen, holds(figure) ? "within limits" : "**exceeded**"]
      }),
    ),
  ].join("\n\n")
}

/** Whether a service stayed within the limits during an attack. */
export function holds(figure: AttackFigure): boolean {
  const { hasKey, health, left } = figure
  const most = hasKey ? limits.growth.withKey : limits.growth.withoutKey
  return growth(figure) <= most && health.worst <= limits.healthMs && health.failed === 0 && left === 0
}

const growth = ({ idleBytes, peakBytes }: AttackFigure) => (peakBytes - idleBytes) / 2 ** 20
