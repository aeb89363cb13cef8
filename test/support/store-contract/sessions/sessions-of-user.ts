import { createHash } from "node:crypto"
import type { SessionFilter, SessionMetadata } from "../../../../server/src/store/types.js"
import { type ContractContext, createTenant, day, newSession, newUser, oddText, range } from "../context.js"
import { allPages } from "../pages.js"

export const origin: SessionMetadata = {
  ip: "2001:db8::1",
  userAgent: oddText,
  authMethod: "passkey",
  provider: "Provider é ",
  impersonator: "Staff/é ",
  providerSessionId: "Sid é ",
}

/** More sessions than are deleted in one transaction. */
export const manySessions = 2_500

/** Inserts sessions of a user with two different times of creation. Their ids are those of `idOfMany`. */
export async function addSessions(
  { database, clock }: ContractContext,
  tenant: string,
  userId: string,
  count = manySessions,
): Promise<void> {
  for (let from = 0; from < count; from += 500) {
    const rows = range(500).map((n) => [
      ...[
        tenant,
        createHash("sha256")
          .update(`${tenant} ${userId} ${from + n}`)
          .digest(),
        userId,
      ],
      ...[database.moment(clock.now + day), "{}", idOfMany(userId, from + n)],
      database.moment(clock.now - (from < 1500 ? 1 : 2)),
    ])
    const columns = "tenant, token_hash, user_id, expires, extra, id, created"
    const values = rows.map(() => "(?, ?, ?, ?, ?, ?, ?)").join(", ")
    await database.sql(`INSERT INTO sessions (${columns}) VALUES ${values}`, rows.flat())
  }
}

export const idOfMany = (userId: string, n: number) => `${userId}${n}`.padStart(32, "0")

/** Returns functions that create and list sessions of the user `u`, each test in a tenant of its own. */
export function sessionsOfUser(context: ContractContext) {
  /** Creates the user in a new tenant. */
  const newCaller = async () => {
    const caller = await createTenant(context)
    await context.store.users.create(caller, newUser({ id: "u" }))
    return caller
  }
  /** Creates sessions of the user, each `afterMs` milliseconds from now. Returns their ids. */
  async function create(
    caller: { tenant: string },
    ...given: { afterMs?: number; expires?: number; provider?: string }[]
  ) {
    const { clock } = context
    const start = clock.now
    const ids: string[] = []
    try {
      for (const { afterMs = 0, expires = start + day, provider } of given) {
        clock.now = start + afterMs
        ids.push((await context.store.sessions.create(caller, newSession("u", expires), { provider })).id as string)
      }
    } finally {
      clock.now = start
    }
    return ids
  }
  /** Returns the ids of all sessions of the user that match the filter. */
  async function listed(caller: { tenant: string }, filter: Omit<SessionFilter, "userId"> = {}, size = 1000) {
    const pages = await allPages(size, (page) => context.other.sessions.list(caller, { ...filter, userId: "u" }, page))
    return pages.flat().map(({ id }) => id)
  }
  return { newCaller, create, listed }
}
