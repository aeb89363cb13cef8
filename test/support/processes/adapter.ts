import type { AdapterAuthenticator, AdapterUser } from "@auth/core/adapters"
import type { AuthwireClient } from "@authwire/client"
import { afterAll, beforeAll, describe, expect } from "@jest/globals"
import { type Row, serviceDatabase } from "../databases/databases.js"
import { type Authwire, startAuthwire } from "./authwire.js"

/** The adapter with its own service, and access to the rows of its database. */
export interface AdapterUnderTest {
  readonly adapter: AuthwireClient["adapter"]
  /** @see Authwire.rows */
  rows(sql: string, params?: unknown[]): Promise<Row[]>
  count(table: string, where?: string, params?: unknown[]): Promise<number>
  /** Creates a user. By default its id and e-mail address are unique. */
  newUser(properties?: Partial<AdapterUser> & Record<string, unknown>): Promise<AdapterUser>
}

/** Tests methods of the adapter contract over a real socket. */
export function describeAdapter(subject: string, tests: (on: AdapterUnderTest) => void): void {
  describe(`AuthwireAdapter, ${subject}`, () => {
    let authwire: Authwire
    beforeAll(async () => {
      authwire = await startAuthwire(serviceDatabase())
    })
    afterAll(() => authwire.close())
    tests({
      get adapter() {
        return authwire.adapter
      },
      rows: (sql, params) => authwire.rows(sql, params),
      async count(table, where = "1 = 1", params = []) {
        return Number((await authwire.rows(`SELECT COUNT(*) AS n FROM ${table} WHERE ${where}`, params))[0]?.n)
      },
      newUser: (properties = {}) =>
        authwire.adapter.createUser({
          id: crypto.randomUUID(),
          email: `${crypto.randomUUID()}@example.com`,
          emailVerified: null,
          ...properties,
        }),
    })
  })
}

export const inAnHour = () => new Date(Date.now() + 3_600_123)

/** Returns a matcher of an AuthwireError. */
export const failure = (code: string, reason: string) =>
  expect.objectContaining({ name: "AuthwireError", code, reason })

export function authenticator(userId: string): AdapterAuthenticator {
  return {
    credentialID: Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString("base64"),
    userId,
    providerAccountId: "acct",
    credentialPublicKey: "pQECAyYgASFYIA==",
    counter: 0,
    credentialDeviceType: "multiDevice",
    credentialBackedUp: false,
    transports: "internal,hybrid",
  }
}
