import { firstTime } from "../../times.js"
import type { SessionPolicy } from "../../types.js"
import type { Database } from "../database.js"
import type { Cell } from "../query/statement.js"
import type { SessionRow } from "../schema/rows.js"

/** What the policy and the revocations of a tenant mean for one session. */
export interface SessionLimits {
  /** When the absolute lifetime of the session ends. */
  readonly latest: Date | undefined
  /** When the session ends if it is not used any more, by its last recorded use. */
  readonly idleUntil: Date | undefined
  /** The last recorded use: of a session that was never seen, its creation. */
  readonly used: Date
  readonly isRevoked: boolean
}

/** The times by which a statement distinguishes the sessions of a tenant that have not ended; see `living`. */
export interface LivingSince {
  now: Date
  /** Sessions that were created before have ended. */
  createdSince: Date
  /** Sessions that were last used before have ended. */
  usedSince: Date
}

export interface SessionRules {
  /** The columns that `limitsIn` expects, for a SELECT from sessions `s`. */
  readonly columns: readonly string[]
  /** Returns the limits of a session, whose columns begin at `start`; undefined if there are none. */
  limitsIn(cells: readonly Cell[], start: number): SessionLimits | undefined
  /** The condition that a session `s` has not ended. Its parameters are `parameters`, made from those of `since`. */
  readonly living: string
  readonly parameters: Readonly<Record<keyof LivingSince, (values: LivingSince) => Cell>>
  since(policy: SessionPolicy, now: number): LivingSince
}

/** Returns a value of the policy, or of the row of a provider, for the tenant of the sessions with this alias. */
const valueIn = (column: string, alias: string, provider = "''") =>
  `(SELECT o.${column} FROM session_policies o WHERE o.tenant = ${alias}.tenant AND o.provider = ${provider})`

const marksIn = (alias: string) =>
  ["''", `${alias}.provider`].map((provider) => valueIn("revoked_before", alias, provider))

/** Returns the condition that `revokeAll` has not ended a session, for a SELECT that gives the sessions this alias. */
export function notRevoked(alias: string): string {
  return marksIn(alias)
    .map((mark) => `${alias}.created >= COALESCE(${mark}, ${alias}.created)`)
    .join(" AND ")
}

/**
 * Creates the conditions on sessions that the policy of their tenant makes. The rows of the tenant and of the session's
 * provider are found by the primary key. They are not joined, because MySQL could then begin with another table. Times are
 * computed here, with the clock that also decides on `expires`.
 */
export function sessionRules({ tables: { sessions, sessionPolicies: policies } }: Database): SessionRules {
  const ofSession = ["s.created", "s.lastSeen"]
  const timeOf = (name: "expires" | "created" | "lastSeen") => (moment: Date) =>
    sessions.cell<keyof SessionRow>(name, moment)
  const [expires, created, lastSeen] = [timeOf("expires"), timeOf("created"), timeOf("lastSeen")]
  return {
    columns: [...ofSession, valueIn("max_age", "s"), valueIn("idle_timeout", "s"), ...marksIn("s")],

    limitsIn(cells, start) {
      const [maxAge, idleTimeout, ofAll, ofProvider] = cells.slice(start + ofSession.length) as [Cell, Cell, Cell, Cell]
      if (maxAge === null && idleTimeout === null && ofAll === null && ofProvider === null) return undefined
      const created = sessions.value("created", cells[start] as Cell) as Date
      const used = sessions.value("lastSeen", cells[start + 1] as Cell) ?? created
      const later = (moment: Date, ms: Cell) => (ms === null ? undefined : new Date(moment.getTime() + Number(ms)))
      const isBefore = (mark: Cell) => mark !== null && created < (policies.value("revokedBefore", mark) as Date)
      return {
        latest: later(created, maxAge),
        idleUntil: later(used, idleTimeout),
        used,
        isRevoked: isBefore(ofAll) || isBefore(ofProvider),
      }
    },

    living: [
      "s.expires >= :now AND s.created >= :createdSince AND COALESCE(s.lastSeen, s.created) >= :usedSince",
      notRevoked("s"),
    ].join(" AND "),
    parameters: {
      now: ({ now }) => expires(now),
      createdSince: ({ createdSince }) => created(createdSince),
      usedSince: ({ usedSince }) => lastSeen(usedSince),
    },
    since({ maxAge, idleTimeout }, now) {
      const before = (ms: number | undefined) => (ms === undefined ? firstTime : new Date(now - ms))
      return { now: new Date(now), createdSince: before(maxAge), usedSince: before(idleTimeout) }
    },
  }
}

/** Returns the expiry of a session within its limits. */
export function within(expires: Date, limits: SessionLimits | undefined): Date {
  return limits?.latest !== undefined && limits.latest < expires ? limits.latest : expires
}

/** Returns when a session ends, or has ended, if it is not used any more. A revoked one ends with its creation. */
export function endOf(expires: Date, created: Date, limits: SessionLimits | undefined): Date {
  if (limits === undefined) return expires
  const ends = [expires, limits.latest, limits.idleUntil, limits.isRevoked ? created : undefined]
  return new Date(Math.min(...ends.filter((end) => end !== undefined).map(Number)))
}

/** Returns whether limits have ended a session, apart from its expiry. */
export function isEnded(limits: SessionLimits | undefined, now: number): boolean {
  if (limits === undefined) return false
  return limits.isRevoked || (limits.idleUntil !== undefined && limits.idleUntil.getTime() < now)
}
