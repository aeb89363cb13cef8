import { setTimeout as delay } from "node:timers/promises"
import { peerSignal } from "../../../util/peer-timeout.js"
import { restMs } from "../../../util/rest.js"
import { sharedLimits, sharesOf } from "../../../util/shared-limits.js"
import type { Database } from "../database.js"
import { itemParameters, type Statement, statement } from "../query/statement.js"
import type { SessionRow } from "../schema/rows.js"
import { seenUsers, startOfDay } from "../users/seen-users.js"

/** The minimum time between two writes of a session's `last_seen` by all processes together, in milliseconds. */
const againAfterMs = 60_000

/** How long uses of sessions are collected before their times are written in a batch, in milliseconds. */
const collectedMs = 1_000

/** The number of rows that one statement changes. With more keys MySQL would scan a small table as a whole. */
const rowsAtOnce = 20

/** The pause after a statement, as a multiple of its duration, so that calls can use the database most of the time. */
const restFactor = 9

/**
 * The timeout of a statement, including waits for locks, in milliseconds. After it the remaining times are
 * discarded.
 */
const timeoutMs = 5_000

type Key = Pick<SessionRow, "tenant" | "tokenHash">

/** A session that was seen. `isNewDay`: it was last seen on an earlier day, so its user may have been too. */
type Seen = Key & Pick<SessionRow, "userId"> & { isNewDay: boolean }

/**
 * Records when sessions were last seen, and on which day their users were, in the background: no call waits for it, and its
 * failures are ignored.
 */
export interface LastSeenWriter {
  /**
   * Records a use. Returns false if too many sessions of the tenant, or of all, wait already: it is recorded when it is seen again.
   *
   * @param lastSeen the value in the row.
   */
  record(session: Key & Pick<SessionRow, "userId">, lastSeen: Date | undefined): boolean
}

/** @param clock the time in milliseconds since 1970-01-01T00:00:00Z. */
export function lastSeenWriter(database: Database, clock: () => number): LastSeenWriter {
  const { sessions } = database.tables
  const waiting = new Map<string, Seen>()
  const shares = sharesOf(sharedLimits.lastSeen)
  const shareOf = ({ tenant }: Key) => shares({ tenant, keyId: undefined })
  let isActive = false
  const update = updateOfRows()
  const seenUser = seenUsers(database)

  function updateOfRows(): Statement<{ keys: readonly Key[]; now: number }> {
    const { parameters, names } = itemParameters(rowsAtOnce, ({ keys }: { keys: readonly Key[] }) => keys, {
      tenant: ({ tenant }) => sessions.cell("tenant", tenant),
      tokenHash: ({ tokenHash }) => sessions.cell("tokenHash", tokenHash),
    })
    const rows = names.map(([tenant, tokenHash]) => `(tenant = ${tenant} AND tokenHash = ${tokenHash})`)
    const isDue = "(lastSeen IS NULL OR lastSeen <= :before)"
    return statement(sessions.updateOf("lastSeen").where(`(${rows.join(" OR ")}) AND ${isDue}`), {
      ...parameters,
      lastSeen: ({ now }) => sessions.cell("lastSeen", new Date(now)),
      before: ({ now }) => sessions.cell("lastSeen", new Date(now - againAfterMs)),
    })
  }

  /**
   * Removes the next batch from the waiting sessions and sorts it, because all processes lock rows in the same order.
   */
  function next(): Seen[] {
    const some = [...waiting].slice(0, rowsAtOnce)
    for (const [name, key] of some) {
      waiting.delete(name)
      shareOf(key).give(1)
    }
    return some.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, key]) => key)
  }

  async function write(): Promise<void> {
    while (waiting.size > 0) {
      const keys = next()
      const now = clock()
      const begun = performance.now()
      const waiter = { signal: peerSignal(timeoutMs) }
      // The users come first: if their day is not written, the times of the sessions are not either, so both are due again.
      const users = keys
        .filter(({ isNewDay }) => isNewDay)
        .map(({ tenant, userId }) => seenUser({ tenant, id: userId }))
      if (users.length > 0) await database.write(waiter, [], (sql) => sql.change(users))
      await database.write(waiter, [], (sql) => sql.write(update, { keys, now }))
      await delay(restMs(begun, restFactor), undefined, { ref: false })
    }
  }

  const writeSoon = () => {
    if (isActive) return
    isActive = true
    const timer = setTimeout(async () => {
      try {
        await write()
      } catch {
        // Discard them: each session is recorded again when it is next seen.
        for (const key of waiting.values()) shareOf(key).give(1)
        waiting.clear()
      }
      isActive = false
    }, collectedMs)
    timer.unref()
  }

  return {
    record(key, lastSeen) {
      const now = clock()
      const isDue = lastSeen === undefined || lastSeen.getTime() <= now - againAfterMs
      const name = sessions.nameOf(key)
      if (!isDue || waiting.has(name)) return true
      if (!shareOf(key).take(1)) return false
      waiting.set(name, { ...key, isNewDay: lastSeen === undefined || lastSeen < startOfDay(new Date(now)) })
      writeSoon()
      return true
    },
  }
}
