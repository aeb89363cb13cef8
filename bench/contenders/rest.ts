import type { Adapter, AdapterSession, AdapterUser, VerificationToken } from "@auth/core/adapters"
import { type Contender, type Endpoints, required } from "./contender.ts"

/** The client of servers/rest.ts, as it is commonly written: JSON over `fetch` with keep-alive connections. */
export function restAdapter({ httpUrl }: Endpoints): Contender {
  const base = required(httpUrl)

  async function call<T>(method: keyof Adapter, body: object): Promise<T> {
    const headers = { "content-type": "application/json" }
    const response = await fetch(`${base}/${method}`, { method: "POST", headers, body: JSON.stringify(body) })
    if (!response.ok) throw new Error(`${method}: ${response.status}`)
    return (await response.json()) as T
  }

  const toUser = <T extends AdapterUser | null>(user: T): T =>
    user && { ...user, emailVerified: user.emailVerified && new Date(user.emailVerified) }
  const withExpires = <T extends { expires: Date }>(found: T): T => ({ ...found, expires: new Date(found.expires) })

  const adapter: Adapter = {
    createUser: async (user) => toUser(await call<AdapterUser>("createUser", user)),
    getUserByEmail: async (email) => toUser(await call("getUserByEmail", { email })),
    getUserByAccount: async (account) => toUser(await call("getUserByAccount", account)),
    linkAccount: (account) => call<undefined>("linkAccount", account),
    async createSession(session) {
      await call("createSession", session)
      return session
    },
    async getSessionAndUser(sessionToken) {
      type Found = { session: AdapterSession; user: AdapterUser } | null
      const found = await call<Found>("getSessionAndUser", { sessionToken })
      return found && { session: withExpires(found.session), user: toUser(found.user) }
    },
    updateSession: (session) => call<undefined>("updateSession", session),
    deleteSession: (sessionToken) => call<undefined>("deleteSession", { sessionToken }),
    async createVerificationToken(token) {
      await call("createVerificationToken", token)
      return token
    },
    async useVerificationToken(key) {
      const token = await call<VerificationToken | null>("useVerificationToken", key)
      return token && withExpires(token)
    },
  }
  return { adapter, close: async () => {} }
}
