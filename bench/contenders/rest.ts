import type { Adapter, AdapterSession, AdapterUser, VerificationToken } from "@auth/core/adapters"
import { type Contender, type Places, required } from "./contender.ts"

/** The client of servers/rest.ts, as people write it: JSON over `fetch`, which keeps connections. */
export function restAdapter({ httpUrl }: Places): Contender {
  const base = required(httpUrl)

  async function call<T>(method: string, path: string, body?: unknown): Promise<T | null> {
    const response = await fetch(base + path, {
      method,
      ...(body === undefined ? {} : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
    })
    if (response.status === 404) return null
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status}`)
    return response.status === 204 ? null : ((await response.json()) as T)
  }

  const toUser = (user: AdapterUser | null) =>
    user && { ...user, emailVerified: user.emailVerified && new Date(user.emailVerified) }
  const toSession = (session: AdapterSession) => ({ ...session, expires: new Date(session.expires) })

  const adapter: Adapter = {
    createUser: async (user) => toUser(await call<AdapterUser>("POST", "/users", user)) as AdapterUser,
    getUserByEmail: async (email) => toUser(await call("GET", `/users/by-email/${encodeURIComponent(email)}`)),
    getUserByAccount: async ({ provider, providerAccountId }) =>
      toUser(
        await call("GET", `/accounts/${encodeURIComponent(provider)}/${encodeURIComponent(providerAccountId)}/user`),
      ),
    linkAccount: async (account) => {
      await call("POST", "/accounts", account)
    },
    createSession: async (session) => {
      await call("POST", "/sessions", session)
      return session
    },
    getSessionAndUser: async (sessionToken) => {
      const found = await call<{ session: AdapterSession; user: AdapterUser }>(
        "GET",
        `/sessions/${encodeURIComponent(sessionToken)}`,
      )
      return found && { session: toSession(found.session), user: toUser(found.user) as AdapterUser }
    },
    deleteSession: async (sessionToken) => {
      await call("DELETE", `/sessions/${encodeURIComponent(sessionToken)}`)
    },
    useVerificationToken: async (params) => {
      const token = await call<VerificationToken>("POST", "/verification-tokens/use", params)
      return token && { ...token, expires: new Date(token.expires) }
    },
  }
  return { adapter, close: async () => {} }
}
