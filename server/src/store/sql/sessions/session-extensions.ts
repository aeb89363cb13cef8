import type { Caller } from "../../store.js"
import type { Session } from "../../types.js"
import type { Database } from "../database.js"
import type { EventOf } from "../events/event-rows.js"
import { coalesce, type Lookup } from "../query/batch-loader.js"
import { type Cell, type Statement, statement } from "../query/statement.js"
import type { SessionRow } from "../schema/rows.js"
import { idsOf } from "./session-keys.js"

/** A session that was due for an extension when it was read. */
export interface DueSession {
  readonly tokenHash: Buffer
  /** The session as it was read. */
  readonly session: Session
  /** How long the session lasts after an extension, in milliseconds. */
  readonly maxAge: number
  /** The session is due if its remaining lifetime is at most this, in milliseconds. Less than `maxAge`. */
  readonly dueMs: number
}

/** The result: the new expiry, or undefined if the session is no longer due. */
interface Outcome {
  readonly expires: Date | undefined
}

interface Extension extends Pick<SessionRow, "tenant" | "tokenHash" | "userId"> {
  expires: Date
  now: Date
  due: Date
}

/** Extensions of several sessions of a tenant. */
interface Extensions extends Pick<Extension, "tenant" | "expires" | "now" | "due"> {
  hashes: readonly Cell[]
}

/**
 * Creates a function that extends sessions. Concurrent extensions share a transaction, because its statements cost more
 * than its rows. The transaction locks the sessions that are still due, extends them and adds their events. It skips
 * rows that other transactions have locked, so that no call waits for the lock on another call's session. Skipped
 * sessions are extended one by one, and so is a session without concurrent ones.
 *
 * The conditions apply to the rows at the time of locking, so they hold even if the caller read the session long
 * before. `due` is earlier than the new expiry. So no expiry becomes earlier, and a second call finds nothing that is
 * due.
 *
 * @param clock the time in milliseconds since 1970-01-01T00:00:00Z.
 * @returns a function that returns the new expiry, or undefined if it extended nothing.
 */
export function sessionExtensions(database: Database, { clock, eventOf }: { clock: () => number; eventOf: EventOf }) {
  const { sessions } = database.tables
  const extendOne = extensionOfOne()
  // For 2, 4, 8 … sessions, so that there are few statements to prepare.
  const several: ReturnType<typeof statementsFor>[] = []
  for (let width = 2; width <= database.lookups.limit; width *= 2) several.push(statementsFor(width))

  /** The CASE prevents the use of the index on users, by which PostgreSQL would read every session of the user. */
  function extensionOfOne(): Statement<Extension> {
    const isDue = "CASE userId WHEN :userId THEN 1 ELSE 0 END = 1 AND expires >= :now AND expires <= :due"
    return statement(sessions.updateOf("expires").where(`${sessions.keyIs()} AND ${isDue}`), {
      tenant: ({ tenant }) => sessions.cell("tenant", tenant),
      tokenHash: ({ tokenHash }) => sessions.cell("tokenHash", tokenHash),
      userId: ({ userId }) => sessions.cell("userId", userId),
      expires: ({ expires }) => sessions.cell("expires", expires),
      now: ({ now }) => sessions.cell("expires", now),
      due: ({ due }) => sessions.cell("expires", due),
    })
  }

  function statementsFor(width: number): { lock: Statement<Extensions>; extend: Statement<Extensions> } {
    const keys: Record<string, (values: Extensions) => Cell> = {
      tenant: ({ tenant }) => sessions.cell("tenant", tenant),
    }
    const list = Array.from({ length: width }, (_, n) => {
      // The last hash is repeated for missing ones.
      keys[`hash${n}`] = ({ hashes }) => hashes[Math.min(n, hashes.length - 1)] as Cell
      return `:hash${n}`
    }).join(", ")
    // The CASE prevents PostgreSQL from using the index on expiries.
    const isDue = "CASE WHEN s.expires >= :now AND s.expires <= :due THEN 1 ELSE 0 END = 1"
    const select = sessions
      .selectFrom("s")
      .select("s.tokenHash, s.userId")
      .where(`s.tenant = :tenant AND s.tokenHash IN (${list}) AND ${isDue}`)
    if (database.engine !== "sqlite") select.setLock("pessimistic_write").setOnLocked("skip_locked")
    return {
      lock: statement(select, {
        ...keys,
        now: ({ now }) => sessions.cell("expires", now),
        due: ({ due }) => sessions.cell("expires", due),
      }),
      extend: statement(sessions.updateOf("expires").where(`tenant = :tenant AND tokenHash IN (${list})`), {
        ...keys,
        expires: ({ expires }) => sessions.cell("expires", expires),
      }),
    }
  }

  const statementsOf = (count: number) => several[Math.max(0, Math.ceil(Math.log2(count)) - 1)] as (typeof several)[0]

  const timesOf = ({ maxAge, dueMs }: DueSession) => {
    const now = clock()
    return { now: new Date(now), due: new Date(now + dueMs), expires: new Date(now + maxAge) }
  }

  async function alone(caller: Caller, wanted: DueSession): Promise<Outcome> {
    const { tenant } = caller
    const { tokenHash, session } = wanted
    const times = timesOf(wanted)
    const extension = { tenant, tokenHash, userId: session.userId, ...times }
    const event = eventOf(caller, "session.updated", idsOf(session))
    const matched = await database.writes(caller, [sessions.nameOf(extension)], (sql) =>
      sql.write(extendOne, extension, event),
    )
    return { expires: matched === 1 ? times.expires : undefined }
  }

  /** Extends the sessions that have the same durations as the first one. The outcome of all others is undefined. */
  async function together(caller: Caller, all: readonly DueSession[]): Promise<(Outcome | undefined)[]> {
    const { tenant } = caller
    const [first] = all as [DueSession]
    const wanted = new Map<string, DueSession>()
    for (const one of all) {
      const name = one.tokenHash.toString("latin1")
      if (one.maxAge === first.maxAge && one.dueMs === first.dueMs && !wanted.has(name)) wanted.set(name, one)
    }
    const times = timesOf(first)
    const hashesOf = (some: Iterable<DueSession>) =>
      Array.from(some, ({ tokenHash }) => sessions.cell("tokenHash", tokenHash))
    const extended = await database.transaction(caller, [], async (sql) => {
      const { lock } = statementsOf(wanted.size)
      const rows = await sql.read(lock, { tenant, ...times, hashes: hashesOf(wanted.values()) })
      const locked = rows.flatMap(([hash, userId]) => {
        const one = wanted.get((hash as Buffer).toString("latin1"))
        return one === undefined || one.session.userId !== sessions.value("userId", userId as Cell) ? [] : [one]
      })
      if (locked.length === 0) return new Set<DueSession>()
      const rowsOfEvents = locked.flatMap(({ session }) => eventOf(caller, "session.updated", idsOf(session)))
      await sql.write(statementsOf(locked.length).extend, { tenant, ...times, hashes: hashesOf(locked) }, rowsOfEvents)
      return new Set(locked)
    })
    return all.map((one) => (extended.has(one) ? { expires: times.expires } : undefined))
  }

  // One entry per tenant, of which callers can create a limited number only.
  const ofTenants = new Map<string, Lookup<DueSession, Outcome>>()
  const ofTenant = (tenant: string) => {
    let shared = ofTenants.get(tenant)
    if (shared === undefined) {
      shared = coalesce(database.lookups, async (wanted, waiter) => {
        const caller = { ...waiter, tenant }
        const [first, second] = wanted as [DueSession, DueSession | undefined]
        return second === undefined ? [await alone(caller, first)] : together(caller, wanted)
      })
      ofTenants.set(tenant, shared)
    }
    return shared
  }

  return async (caller: Caller, wanted: DueSession): Promise<Date | undefined> => {
    const outcome = caller.transaction === undefined ? await ofTenant(caller.tenant)(wanted, caller) : undefined
    return (outcome ?? (await alone(caller, wanted))).expires
  }
}
