import { setTimeout as delay } from "node:timers/promises"
import { sharedLimits, sharesOf } from "../../../util/shared-limits.js"
import type { Database } from "../database.js"
import { itemParameters, type Statement, statement } from "../query/statement.js"
import type { SessionRow, UserRow } from "../schema/rows.js"
import { startOfDay } from "../users/start-of-day.js"

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

type SessionKey = Pick<SessionRow, "tenant" | "tokenHash">
type UserKey = Pick<UserRow, "tenant" | "id">

/**
 * Records when sessions were last seen, and on which day users were, in the background: no call waits for it, and its
 * failures are ignored.
 */
export interface LastSeenWriter {
  /**
   * Returns false if too many sessions of the tenant, or of all, wait already. It is recorded when it is seen again.
   *
   * @param lastSeen the value in the row.
   */
  record(key: SessionKey, userId: string, lastSeen: Date | undefined): boolean
  /** Records a user whose session has been created or changed. Returns false like `record`. */
  recordUser(key: UserKey): boolean
}

interface Rows<Key> {
  keys: readonly Key[]
  now: number
}

/** The rows of a table that wait for their time. */
interface Queue {
  readonly waiting: Map<string, { tenant: string }>
  /** Writes the next batch. */
  write(now: number): Promise<unknown>
}

/** @param clock the time in milliseconds since 1970-01-01T00:00:00Z. */
export function lastSeenWriter(database: Database, clock: () => number): LastSeenWriter {
  const { sessions, users } = database.tables
  const shares = sharesOf(sharedLimits.lastSeen)
  const shareOf = ({ tenant }: { tenant: string }) => shares({ tenant, keyId: undefined })
  let isActive = false
  const updateSessions = updateOfSessions()
  const updateUsers = updateOfUsers()
  const ofSessions = queueOf(updateSessions)
  const ofUsers = queueOf(updateUsers)
  // The users come first: if their day is not written, the times of the sessions are not either, so both are due again.
  const queues: readonly Queue[] = [ofUsers, ofSessions]

  function updateOfSessions(): Statement<Rows<SessionKey>> {
    const { parameters, names } = itemParameters(rowsAtOnce, ({ keys }: Rows<SessionKey>) => keys, {
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

  function updateOfUsers(): Statement<Rows<UserKey>> {
    const { parameters, names } = itemParameters(rowsAtOnce, ({ keys }: Rows<UserKey>) => keys, {
      tenant: ({ tenant }) => users.cell("tenant", tenant),
      id: ({ id }) => users.cell("id", id),
    })
    const rows = names.map(([tenant, id]) => `(tenant = ${tenant} AND id = ${id})`)
    // The CASE prevents the use of the index on the days.
    const isDue = "CASE WHEN lastSeenDay IS NULL OR lastSeenDay < :before THEN 1 ELSE 0 END = 1"
    const today = ({ now }: { now: number }) => users.cell("lastSeenDay", startOfDay(new Date(now)))
    return statement(users.updateOf("lastSeenDay").where(`(${rows.join(" OR ")}) AND ${isDue}`), {
      ...parameters,
      lastSeenDay: today,
      before: today,
    })
  }

  function queueOf<Key extends { tenant: string }>(update: Statement<Rows<Key>>) {
    const waiting = new Map<string, Key>()
    /** Removes the next batch and sorts it, because all processes lock rows in the same order. */
    const next = (): Key[] => {
      const some = [...waiting].slice(0, rowsAtOnce)
      for (const [name, key] of some) {
        waiting.delete(name)
        shareOf(key).give(1)
      }
      return some.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, key]) => key)
    }
    return {
      waiting,
      write(now: number) {
        const keys = next()
        const waiter = { signal: AbortSignal.timeout(timeoutMs) }
        return database.writes(waiter, [], (sql) => sql.write(update, { keys, now }))
      },
      /** Returns false if too many wait already. */
      add(name: string, key: Key): boolean {
        if (waiting.has(name)) return true
        if (!shareOf(key).take(1)) return false
        waiting.set(name, key)
        writeSoon()
        return true
      },
    }
  }

  async function write(): Promise<void> {
    for (const queue of queues) {
      while (queue.waiting.size > 0) {
        const begun = performance.now()
        await queue.write(clock())
        await delay((performance.now() - begun) * restFactor, undefined, { ref: false })
      }
    }
  }

  function writeSoon(): void {
    if (isActive) return
    isActive = true
    const timer = setTimeout(async () => {
      try {
        // Users may have been added while sessions were written.
        while (queues.some(({ waiting }) => waiting.size > 0)) await write()
      } catch {
        // Discard them: each is recorded again when it is next seen.
        for (const { waiting } of queues) {
          for (const key of waiting.values()) shareOf(key).give(1)
          waiting.clear()
        }
      }
      isActive = false
    }, collectedMs)
    timer.unref()
  }

  const recordUser = (key: UserKey) => ofUsers.add(users.nameOf(key), key)

  return {
    recordUser,
    record(key, userId, lastSeen) {
      const now = clock()
      if (lastSeen !== undefined && lastSeen.getTime() > now - againAfterMs) return true
      const isNewDay = lastSeen === undefined || lastSeen < startOfDay(new Date(now))
      if (isNewDay && !recordUser({ tenant: key.tenant, id: userId })) return false
      return ofSessions.add(sessions.nameOf(key), key)
    },
  }
}
