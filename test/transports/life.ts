import type { AdapterAuthenticator } from "@auth/core/adapters"
import { type AuthwireClient, AuthwireError } from "@authwire/client"

type Adapter = AuthwireClient["adapter"]

const expires = new Date("2099-01-02T03:04:05.006Z")
const user = {
  id: "Grace of the transports",
  email: "Grace.Hopper@Example.com",
  emailVerified: new Date("2024-02-29T23:59:59.987Z"),
  name: "Grace \u{1f98a}",
  image: "data:image/png;base64,".padEnd(200_000, "A"),
  role: "admin",
  nested: { list: [1, "two", null, { three: [true] }] },
}
const key = { provider: "example", providerAccountId: "acct ✓" }
const account = {
  ...key,
  userId: user.id,
  type: "oidc" as const,
  access_token: "a".repeat(65_536),
  id_token: "é".repeat(32_768),
  refresh_token: "\u{1f98a}".repeat(16_384),
  expires_at: 1_893_456_000,
  authorization_details: [{ type: "payment", limits: [1, 2.5] }],
  "not-before-policy": 0,
}
const session = { sessionToken: "of Grace", userId: user.id, expires, device: { os: "x" } }
const link = { identifier: "Grace@example.com", token: "link ✓", expires }
const passkey: AdapterAuthenticator = {
  credentialID: "AbC+/==",
  userId: user.id,
  providerAccountId: "acct",
  credentialPublicKey: "pQECAyYgASFYIA==",
  counter: 5,
  credentialDeviceType: "multiDevice",
  credentialBackedUp: true,
  transports: "internal,hybrid",
}

/** A call of the adapter, with the name of its method. */
type Step = readonly [method: keyof Adapter, make: (adapter: Adapter) => unknown]

/** The life cycle of a user: every method of the adapter, with found rows, missing rows, and rejections. */
const life: readonly Step[] = [
  ["getUser", (adapter) => adapter.getUser(user.id)],
  ["getUserByEmail", (adapter) => adapter.getUserByEmail(user.email)],
  ["getUserByAccount", (adapter) => adapter.getUserByAccount(key)],
  ["updateUser", (adapter) => adapter.updateUser({ id: user.id, name: "x" })],
  ["deleteUser", (adapter) => adapter.deleteUser(user.id)],
  ["linkAccount", (adapter) => adapter.linkAccount(account)],
  ["createSession", (adapter) => adapter.createSession(session)],
  ["createAuthenticator", (adapter) => adapter.createAuthenticator(passkey)],
  ["updateAuthenticatorCounter", (adapter) => adapter.updateAuthenticatorCounter(passkey.credentialID, 1)],
  ["createUser", (adapter) => adapter.createUser({ ...user, name: "n".repeat(4097), image: "i".repeat(262_145) })],
  ["createUser", (adapter) => adapter.createUser({ ...user, id: "" })],
  ["createUser", (adapter) => adapter.createUser(user)],
  ["createUser", (adapter) => adapter.createUser({ ...user, email: "another@example.com" })],
  ["createUser", (adapter) => adapter.createUser({ ...user, id: "another" })],
  ["getUser", (adapter) => adapter.getUser(user.id)],
  ["getUserByEmail", (adapter) => adapter.getUserByEmail(user.email.toLowerCase())],
  ["updateUser", (adapter) => adapter.updateUser({ id: user.id, name: null, role: "user" } as never)],
  ["linkAccount", (adapter) => adapter.linkAccount(account)],
  ["linkAccount", (adapter) => adapter.linkAccount({ ...account, provider: "p\u0000" })],
  ["getUserByAccount", (adapter) => adapter.getUserByAccount(key)],
  ["getAccount", (adapter) => adapter.getAccount(key.providerAccountId, key.provider)],
  ["createSession", (adapter) => adapter.createSession(session)],
  ["createSession", (adapter) => adapter.createSession(session)],
  ["getSessionAndUser", (adapter) => adapter.getSessionAndUser(session.sessionToken)],
  ["updateSession", (adapter) => adapter.updateSession({ ...session, expires: new Date("2098-01-01T00:00:00Z") })],
  ["deleteSession", (adapter) => adapter.deleteSession(session.sessionToken)],
  ["deleteSession", (adapter) => adapter.deleteSession(session.sessionToken)],
  ["getSessionAndUser", (adapter) => adapter.getSessionAndUser(session.sessionToken)],
  ["createVerificationToken", (adapter) => adapter.createVerificationToken(link)],
  ["createVerificationToken", (adapter) => adapter.createVerificationToken(link)],
  ["useVerificationToken", (adapter) => adapter.useVerificationToken(link)],
  ["useVerificationToken", (adapter) => adapter.useVerificationToken(link)],
  ["createAuthenticator", (adapter) => adapter.createAuthenticator(passkey)],
  ["createAuthenticator", (adapter) => adapter.createAuthenticator(passkey)],
  ["getAuthenticator", (adapter) => adapter.getAuthenticator(passkey.credentialID)],
  ["getAuthenticator", (adapter) => adapter.getAuthenticator("none")],
  ["listAuthenticatorsByUserId", (adapter) => adapter.listAuthenticatorsByUserId(user.id)],
  ["updateAuthenticatorCounter", (adapter) => adapter.updateAuthenticatorCounter(passkey.credentialID, 7)],
  ["updateAuthenticatorCounter", (adapter) => adapter.updateAuthenticatorCounter(passkey.credentialID, 6)],
  ["unlinkAccount", (adapter) => adapter.unlinkAccount(key)],
  ["getAccount", (adapter) => adapter.getAccount(key.providerAccountId, key.provider)],
  ["deleteUser", (adapter) => adapter.deleteUser(user.id)],
  ["listAuthenticatorsByUserId", (adapter) => adapter.listAuthenticatorsByUserId(user.id)],
]

/** The methods that occur in the life cycle. */
export const lifeMethods = new Set<string>(life.map(([method]) => method))

/** Executes it. No rows remain. The outcomes are values, or errors as plain objects. */
export async function live(adapter: Adapter): Promise<{ method: string; value?: unknown; error?: object }[]> {
  const outcomes = []
  for (const [method, make] of life) {
    try {
      outcomes.push({ method, value: await make(adapter) })
    } catch (error) {
      if (!(error instanceof AuthwireError)) throw error
      outcomes.push({ method, error: error.toJSON() })
    }
  }
  return outcomes
}
