import {
  anyone,
  encryptionKeys,
  newAccount,
  newAuthenticator,
  newSession,
  newUser,
  range,
} from "../../../server/src/store/conformance/context.js"
import type { StoreDatabase } from "../../../server/src/store/conformance.js"
import { type Database, openDatabase, sqlStore } from "../../../server/src/store/sql/index.js"
import type { Store } from "../../../server/src/store/store.js"
import type { DatabaseTarget, TestDatabase } from "./databases.js"
import { type Plans, plansOf, type Ran } from "./plans.js"
import { recordingDatabase } from "./recording-database.js"
import { createStoreDatabase } from "./store-database.js"

/** A database, and the statements of stores on it, whose plans can be asked for. */
export interface PlannedDatabase {
  readonly tables: StoreDatabase & TestDatabase
  readonly database: Database
  readonly plans: Plans
  /** The statements that ran, which a test may empty. */
  readonly recorded: Ran[]
  /** Opens a store that records every statement that it runs. */
  recordingStore(): Store
  /** Fills the tables of a tenant, because the servers scan a small table whatever indexes there are. Not on SQLite. */
  fill(tenant: string): Promise<void>
  /** Makes the database count the rows of these tables, for its plans. */
  analyze(...names: string[]): Promise<void>
  close(): Promise<void>
}

export async function openPlanned(target: DatabaseTarget): Promise<PlannedDatabase> {
  const tables = await createStoreDatabase(target)
  const database = await openDatabase({ url: tables.url, poolSize: 1 })
  const recorded: Ran[] = []
  const analyze = async (...names: string[]) => {
    if (target === "sqlite") return
    // PostgreSQL counts by an index alone only if it knows which rows are visible to all transactions.
    await tables.query(`${target === "postgres" ? "VACUUM ANALYZE" : "ANALYZE TABLE"} ${names.join(", ")}`)
  }
  return {
    tables,
    database,
    plans: plansOf(target, database),
    recorded,
    recordingStore: () => sqlStore(recordingDatabase(database, recorded, { changes: true }), { encryptionKeys }),
    async fill(tenant) {
      const [text, hash] =
        target === "postgres"
          ? ["'filling ' || n", "sha256(n::bytea)"]
          : ["CONCAT('filling ', n)", "UNHEX(SHA2(n, 256))"]
      const rows: [table: string, columns: string, values: string][] = [
        ["users", "id, email_key, extra", "n, n, '{}'"],
        ["accounts", "provider, provider_account_id, user_id, type, extra", "'p', n, n, 'oauth', '{}'"],
        ["sessions", "token_hash, user_id, expires, extra", `${hash}, n, now(), '{}'`],
        ["session_policies", "provider", "n"],
        ["verification_tokens", "identifier, token_hash, expires", `n, ${hash}, now()`],
        [
          "authenticators",
          "credential_id, user_id, provider_account_id, credential_public_key, counter, credential_device_type, credential_backed_up, extra",
          "n, n, n, '', 0, '', true, '{}'",
        ],
      ]
      const numbers = `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 100)
        SELECT a.n * 100 + b.n AS n FROM numbers a, numbers b WHERE a.n <= 20`
      for (const [table, columns, values] of rows) {
        await tables.query(`INSERT INTO ${table} (tenant, ${columns}) SELECT '${tenant}', ${values}
          FROM (SELECT ${text} AS n FROM (${numbers}) AS all_numbers) AS filling`)
      }
      await analyze(...rows.map(([table]) => table))
    },
    analyze,
    async close() {
      await database.close()
      await tables.drop()
    },
  }
}

/** Creates 50 users, each with an account, a session and a passkey, and two policies. Returns the rows of one user. */
export async function createUsers(store: Store) {
  const users = range(50).map((n) => newUser({ email: `${n}@example.com` }))
  const user = users[7] as (typeof users)[0]
  const account = newAccount(user.id)
  const session = newSession(user.id, Date.now() + 86_400_000)
  const authenticator = newAuthenticator(user.id)
  for (const each of users) {
    await store.users.create(anyone, each)
    await store.accounts.link(anyone, newAccount(each.id))
    await store.sessions.create(anyone, newSession(each.id, Date.now()))
    await store.authenticators.create(anyone, newAuthenticator(each.id))
  }
  await store.accounts.link(anyone, account)
  await store.sessions.create(anyone, session, { provider: "p" })
  for (const provider of ["", "p"])
    await store.sessions.revokeAll(anyone, { createdBefore: new Date(0), ...(provider && { provider }) })
  await store.authenticators.create(anyone, authenticator)
  return { user, account, session, authenticator }
}
