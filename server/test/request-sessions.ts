import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { createTokenModule, encode } from "@authwire/token"
import { afterAll, beforeAll, beforeEach } from "@jest/globals"
import {
  findRequestSession,
  type RequestSessionDeps,
  type RequestSessionOptions,
} from "../src/introspection/request-session.js"
import type { Store } from "../src/store/store.js"

export const secret = "a secret of the tests"
export const plain = "authjs.session-token"
export const secure = `__Secure-${plain}`
export const host = `__Host-${plain}`
const hourMs = 3_600_000
export const caller = { tenant: "default" }
export const ada = { id: "ada", name: "Ada", email: "ada@example.com", extra: { role: "admin" } }

/** A store with the users ada and grace, and the sessions that are found in it. */
class RequestSessions {
  database!: Awaited<ReturnType<typeof createStoreDatabase>>
  store!: Store
  /** The time of the store. */
  now = 0
  deps!: RequestSessionDeps
  /** The tenants and claims of JWTs without a user. */
  missing: string[][] = []

  find = (headers: Record<string, string>, options?: RequestSessionOptions, tenant = "default") =>
    findRequestSession(this.deps, { tenant }, { get: (name) => headers[name] }, options)

  signIn = async (userId: string, sessionToken: string = crypto.randomUUID()) => {
    const expires = new Date(this.now + hourMs)
    const { id } = await this.store.sessions.create(caller, { sessionToken, userId, expires, extra: {} })
    return { sessionToken, id, expires }
  }
}

/** Opens the store for the tests of the block, with these users anew before each. */
export function useRequestSessions(): RequestSessions {
  const at = new RequestSessions()
  beforeAll(async () => {
    at.database = await createStoreDatabase(serviceDatabase())
    at.store = await at.database.openStore({ clock: () => at.now })
  })
  afterAll(() => at.database?.drop())
  beforeEach(async () => {
    at.now = Date.now()
    for (const id of ["ada", "grace"]) await at.store.users.delete(caller, id)
    await at.store.users.create(caller, ada)
    await at.store.users.create(caller, { id: "grace", extra: {} })
    at.missing = []
    at.deps = {
      sessions: at.store.sessions,
      signals: at.store.signals,
      tokens: createTokenModule(),
      secretsOf: (tenant) => (tenant === "default" ? [secret] : []),
      secureCookie: false,
      onMissingUserId: (...one) => void at.missing.push(one),
    }
  })
  return at
}

export const jwt = (sub: string, salt = plain, claims: object = {}, maxAge = 3600) =>
  encode({ token: { sub, ...claims }, secret, salt, maxAge })

export const pictureOf = (length: number) => ({ picture: "x".repeat(length) })

/** The cookies of a JWT that is too long for one. */
export const chunks = (name: string, token: string) =>
  (token.match(/.{1,3936}/g) ?? []).map((chunk, index) => `${name}.${index}=${chunk}`)
