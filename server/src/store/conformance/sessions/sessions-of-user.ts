import type { SessionFilter, SessionOrigin } from "../../types.js"
import { type ContractContext, day, newId, newSession, newUser, oddText } from "../context.js"
import { allPages } from "../pages.js"

export const origin: SessionOrigin = {
  ip: "2001:db8::1",
  userAgent: oddText,
  authMethod: "passkey",
  provider: "Provider é ",
  impersonator: "Staff/é ",
}

/** Returns functions that create and list sessions of the user `u`, each test in a tenant of its own. */
export function sessionsOfUser(context: ContractContext) {
  /** Creates the user in a new tenant. */
  const newCaller = async () => {
    const caller = { tenant: newId() }
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
