import type { DatabaseTarget } from "@authwire/test-support/databases/databases.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import type { endsAfterEach } from "@authwire/test-support/endings.js"
import { anyone, encryptionKeys } from "@authwire/test-support/store-contract/context.js"
import { bulk, emailKey, openSqlStore, sessionPolicyStore } from "../../server/src/store/sql/index.js"

export const date = (day: number) => new Date(Date.UTC(2030, 0, day, 1, 2, 3, 456))
const times = { created: date(1), updated: date(2) }
const email = " Ada@Example.com"

/** Creates a database with a row with every property in each table, a further user, and a session policy. */
export async function filledDatabase(target: DatabaseTarget, later: ReturnType<typeof endsAfterEach>) {
  const database = await createStoreDatabase(target)
  later(() => database.drop())
  const store = await openSqlStore({ encryptionKeys, url: database.url })
  later(() => store.close())
  const of = { ...anyone, userId: "u1" }
  const tables = bulk(store.database, { ...anyone, encryptionKeys })
  const write = <Row>(table: { write(rows: { missing: Row[]; changed: Row[] }): Promise<void> }, ...missing: Row[]) =>
    table.write({ missing, changed: [] })
  await write(
    tables.users,
    {
      ...{ ...anyone, id: "u1", email, emailKey: emailKey(email), emailVerified: date(3), name: "Ada 🦊" },
      ...{ extra: { image: null, role: ["admin"], secret: { n: 1 } }, privateExtra: '{"passwordHash":"x","pin":null}' },
      ...{ ...times, disabledSince: date(4), disabledUntil: date(5), disabledReason: "spam" },
    },
    { ...anyone, id: "u2", extra: {} },
  )
  await write(tables.accounts, {
    ...{ ...of, type: "oidc", provider: "google", providerAccountId: "g1", ...times },
    ...{ access_token: "a", token_type: "bearer", id_token: "i", scope: "s", expires_in: 1.5, expires_at: 1893456000 },
    ...{ authorization_details: [{ type: "x" }], extra: { refresh_token: null, session_state: "open" } },
  })
  const [metadata, id] = [{ userAgent: "Browser", authMethod: "passkey", provider: "google" }, "0f".repeat(16)]
  await write(tables.sessions, {
    ...{ ...of, tokenHash: Buffer.alloc(32, "session"), expires: date(9), extra: { device: "phone" } },
    ...{ id, created: date(6), lastSeen: date(7), ip: "::1", impersonator: "admin", ...metadata },
    providerSessionId: "sid of google",
  })
  const tokenHash = Buffer.alloc(32, "token")
  await write(tables.verificationTokens, { ...anyone, identifier: email, tokenHash, expires: date(8) })
  await write(tables.authenticators, {
    ...{ ...of, credentialID: "c", providerAccountId: "c", credentialPublicKey: "k", counter: 2 ** 32 - 1 },
    ...{ credentialDeviceType: "multiDevice", credentialBackedUp: true, extra: { transports: null } },
    ...{ displayName: "Phone", lastUsed: date(9), ...times },
  })
  const policy = { maxAge: 60_000, idleTimeout: 300_000, maxSessions: 3, atLimit: "reject_new" } as const
  await sessionPolicyStore(store.database).update(anyone, policy)
  return database
}
