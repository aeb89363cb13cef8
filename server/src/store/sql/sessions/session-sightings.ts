import { setTimeout as delay } from "node:timers/promises"
import type { Database } from "../database.js"
import { type Cell, type Statement, statement } from "../query/statement.js"
import type { SessionRow } from "../schema/entities.js"

/** That a session was seen is written again after so long at the earliest, in milliseconds, by all processes together. */
const againAfterMs = 60_000

/** How long sightings are collected, in milliseconds, to be written together. */
const collectedMs = 1_000

/** How many sessions may wait to be written. A session beyond them is seen again, and written then. */
const mostWaiting = 1_000

/** How many rows a statement changes. With more keys MySQL would rather read a small table whole. */
const rowsAtOnce = 20

/** How many times as long as a statement took it rests before the next one: calls have the database for most of the time. */
const restFactor = 9

/** How long the database may take for a statement, in milliseconds, locks included; then the rest is forgotten. */
const patienceMs = 5_000

type Key = Pick<SessionRow, "tenant" | "tokenHash">

/** Keeps when sessions were seen last, apart from the calls that see them: nobody waits for it, and its failures are nobody's. */
export interface SessionSightings {
  /** @param lastSeen what the row says. */
  seen(key: Key, lastSeen: Date | undefined): void
}

/** @param clock the time in milliseconds since 1970-01-01T00:00:00Z. */
export function sessionSightings(database: Database, clock: () => number): SessionSightings {
  const { sessions } = database.tables
  const waiting = new Map<string, Key>()
  let isActive = false
  const update = updateOfRows()

  function updateOfRows(): Statement<{ keys: readonly Key[]; now: number }> {
    const parameters: Record<string, (values: { keys: readonly Key[]; now: number }) => Cell> = {
      lastSeen: ({ now }) => sessions.cell("lastSeen", new Date(now)),
      before: ({ now }) => sessions.cell("lastSeen", new Date(now - againAfterMs)),
    }
    const rows = Array.from({ length: rowsAtOnce }, (_, n) => {
      // The last row stands for those that lack.
      const keyOf = (keys: readonly Key[]) => keys[Math.min(n, keys.length - 1)] as Key
      parameters[`tenant${n}`] = ({ keys }) => sessions.cell("tenant", keyOf(keys).tenant)
      parameters[`tokenHash${n}`] = ({ keys }) => sessions.cell("tokenHash", keyOf(keys).tokenHash)
      return `(tenant = :tenant${n} AND tokenHash = :tokenHash${n})`
    })
    const isDue = "(lastSeen IS NULL OR lastSeen <= :before)"
    return statement(sessions.updateOf("lastSeen").where(`(${rows.join(" OR ")}) AND ${isDue}`), parameters)
  }

  /** Takes some of those that wait, in the order in which all processes lock them. */
  function next(): Key[] {
    const some = [...waiting].slice(0, rowsAtOnce)
    for (const [name] of some) waiting.delete(name)
    return some.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, key]) => key)
  }

  async function write(): Promise<void> {
    while (waiting.size > 0) {
      const keys = next()
      const now = clock()
      const begun = performance.now()
      await database.writes({ signal: AbortSignal.timeout(patienceMs) }, [], (sql) => sql.write(update, { keys, now }))
      await delay((performance.now() - begun) * restFactor, undefined, { ref: false })
    }
  }

  const writeSoon = () => {
    if (isActive) return
    isActive = true
    const timer = setTimeout(async () => {
      try {
        await write()
      } catch {
        // Whoever comes with these sessions again brings them back.
        waiting.clear()
      }
      isActive = false
    }, collectedMs)
    timer.unref()
  }

  return {
    seen(key, lastSeen) {
      const isDue = lastSeen === undefined || lastSeen.getTime() <= clock() - againAfterMs
      if (!isDue || waiting.size >= mostWaiting) return
      waiting.set(sessions.nameOf(key), key)
      writeSoon()
    },
  }
}
