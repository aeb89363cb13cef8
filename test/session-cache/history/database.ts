import { sessionKey, userKey } from "../../../client/src/session-cache/caching.js"
import type { CacheReport } from "../../../server/src/session-cache/hub.js"
import type { Simulation } from "../simulation.js"

/** The tenant of the sessions, the users and the clients. */
export const clientTenant = "default"
export const tokens = ["t0", "t1", "t2", "t3", "t4"]
export const userIds = ["u0", "u1", "u2"]
/** Returns the tokens of a user's sessions. */
export const tokensOf = (userId: string) => tokens.filter((_, n) => userIds[n % userIds.length] === userId)

export interface StoredSession {
  token: string
  id: string
  userId: string
  version: number
  /** False after it was deleted. */
  isThere: boolean
}

/** The row that a process writes about its clients of a tenant. */
export interface StoredRow extends CacheReport {
  ms: number
  version: number
}

/**
 * Sessions, users and the rows of the processes. For the checks it also has the time until which each version was
 * valid.
 */
export class Database {
  readonly #simulation: Simulation
  /** By token. */
  readonly sessions = new Map<string, StoredSession>()
  /** The versions of the users, by id. */
  readonly users = new Map<string, number>()
  /** The commits in their order. */
  readonly log: { tenant: string; keys: readonly string[]; isOfAll: boolean }[] = []
  /** By token or user id: the element at index v is the time when version v was replaced. */
  readonly #ends = new Map<string, number[]>()
  /** By token: when it was acknowledged that no cache has the session any more. */
  readonly #acknowledged = new Map<string, number>()
  /** By tenant and process. */
  readonly #rows = new Map<string, StoredRow & { tenant: string; expires: number }>()

  /** The ids of the users that are disabled. */
  readonly disabled = new Set<string>()

  constructor(simulation: Simulation) {
    this.#simulation = simulation
    for (const id of userIds) this.users.set(id, 0)
    for (const [n, token] of tokens.entries()) {
      const userId = userIds[n % userIds.length] as string
      this.sessions.set(token, { token, id: `h${n}`, userId, version: 0, isThere: true })
    }
  }

  commit(keys: readonly string[], tenant = clientTenant, isOfAll = false): void {
    this.log.push({ tenant, keys, isOfAll })
  }

  /**
   * Ends all sessions, by a revocation or by a policy that they do not fulfil. Commits for every call, because a session
   * that has ended may be in a cache.
   */
  endAll(): void {
    this.deleteSessions([...this.sessions.values()], [])
    this.commit([], clientTenant, true)
  }

  updateSession(session: StoredSession): void {
    this.#changed(session.token, session.version++)
    this.commit([sessionKey(session.id)])
  }

  /** Returns the sessions that the user has or had. */
  sessionsOf(userId: string): StoredSession[] {
    return [...this.sessions.values()].filter((session) => session.userId === userId)
  }

  /** Commits for every call, because a user without sessions may have some in a cache. */
  disableUser(id: string): void {
    this.disabled.add(id)
    this.deleteSessions(this.sessionsOf(id), [])
    this.commit([userKey(id)])
  }

  /** Returns the new version. */
  updateUser(id: string): number {
    const version = this.users.get(id) as number
    this.#changed(id, version)
    this.users.set(id, version + 1)
    this.commit([userKey(id)])
    return version + 1
  }

  /** Deletes the sessions that still exist, and invalidates these keys in the caches. Returns the number deleted. */
  deleteSessions(sessions: readonly StoredSession[], keys: readonly string[]): number {
    const found = sessions.filter(({ isThere }) => isThere)
    for (const session of found) {
      session.isThere = false
      this.#changed(session.token, session.version)
    }
    if (found.length > 0) this.commit(keys)
    return found.length
  }

  #changed(name: string, version: number): void {
    const ends = this.#ends.get(name) ?? []
    ends[version] = this.#simulation.time
    this.#ends.set(name, ends)
  }

  /** The time when a version of a session or a user was replaced. Undefined: it is the current one. */
  endOf(name: string, version: number): number | undefined {
    return this.#ends.get(name)?.[version]
  }

  /** Records that the service acknowledges now that no cache has these sessions any more. */
  acknowledge(sessions: readonly StoredSession[]): void {
    for (const { token } of sessions)
      if (!this.#acknowledged.has(token)) this.#acknowledged.set(token, this.#simulation.time)
  }

  acknowledgedAt(token: string): number | undefined {
    return this.#acknowledged.get(token)
  }

  /** Writes the row of a process for a tenant, unless it already has a later version. */
  writeRow(tenant: string, process: string, row: StoredRow): void {
    const key = `${tenant} ${process}`
    if ((this.#rows.get(key)?.version ?? 0) >= row.version) return
    this.#rows.set(key, { ...row, tenant, expires: this.#simulation.time + row.ms })
  }

  /** Returns copies of the rows of all processes for a tenant, without expired ones. */
  rowsOf(tenant: string): StoredRow[] {
    return [...this.#rows.values()]
      .filter((row) => row.tenant === tenant && row.expires > this.#simulation.time)
      .map((row) => ({ ...row }))
  }
}
