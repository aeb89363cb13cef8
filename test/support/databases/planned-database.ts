import { type Database, openDatabase, type SqlStore, sqlStore } from "../../../server/src/store/sql/index.js"
import type { Store } from "../../../server/src/store/store.js"
import {
  anyone,
  encryptionKeys,
  newAccount,
  newAuthenticator,
  newSession,
  newUser,
  range,
} from "../store-contract/context.js"
import { databaseTargets } from "./databases.js"
import { type PlannedTarget, type Plans, plansOf, type Ran } from "./plans.js"
import { recordingDatabase } from "./recording-database.js"
import { openShardedDatabase } from "./sharded-database.js"
import { createStoreDatabase } from "./store-database.js"

/** What a test needs of the tables beside the store. */
type PlannedTables = Pick<Awaited<ReturnType<typeof createStoreDatabase>>, "url" | "query" | "sql" | "moment" | "drop">

/** A database, and the statements of stores on it, whose plans can be asked for. */
export interface PlannedDatabase {
  readonly tables: PlannedTables
  readonly database: Database
  readonly plans: Plans
  /** The statements that ran, which a test may empty. */
  readonly recorded: Ran[]
  /** Opens a database that records every statement, with writes that match no row unless `changes` is true. */
  recording(changes?: boolean): Database
  /** Opens a store that records every statement that it runs. */
  recordingStore(options?: { changes?: boolean; eventsKeepMs?: number; auditKeepMs?: number }): SqlStore
  /** Fills the tables of a tenant, because the servers scan a small table whatever indexes there are. Not on SQLite. */
  fill(tenant: string): Promise<void>
  /** Makes the database count the rows of these tables, for its plans. */
  analyze(...names: string[]): Promise<void>
  close(): Promise<void>
}

/** The SQL of a table `numbers` whose column n has the numbers from 1 to `count`, which is at most 40,000. */
export const numbersTo = (count: number) =>
  `(SELECT n FROM (
    WITH RECURSIVE small (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM small WHERE n < 200)
    SELECT (a.n - 1) * 200 + b.n AS n FROM small a, small b
  ) AS all_numbers WHERE n <= ${count}) AS numbers`

/** The SQL of a hash of a text; a random one on SQLite, which has no function for it. */
export function hashOf(target: PlannedTarget, text: string): string {
  if (target === "sqlite") return "randomblob(32)"
  return target === "postgres" ? `sha256((${text})::bytea)` : `UNHEX(SHA2(${text}, 256))`
}

const { AUTHWIRE_TEST_LONG, AUTHWIRE_TEST_VITESS_URL, AUTHWIRE_TEST_VITESS_SHARDS_URL } = process.env

/** The databases of this run; in a long one Vitess, with one shard and with several. */
export function plannedTargets(): PlannedTarget[] {
  if (!AUTHWIRE_TEST_LONG) return databaseTargets()
  return [
    ...(AUTHWIRE_TEST_VITESS_URL ? ["vitess" as const] : []),
    ...(AUTHWIRE_TEST_VITESS_SHARDS_URL ? ["shard" as const] : []),
  ]
}

function openTables(target: PlannedTarget, tenants: string[]): Promise<PlannedTables> {
  if (target === "shard") return openShard(AUTHWIRE_TEST_VITESS_SHARDS_URL as string, tenants)
  return target === "vitess"
    ? createStoreDatabase("mysql", { tenants, serverUrl: AUTHWIRE_TEST_VITESS_URL as string })
    : createStoreDatabase(target, { tenants })
}

/** Opens the first shard of a keyspace, as the store of a sharded one opens each. */
async function openShard(url: string, tenants: string[]): Promise<PlannedTables> {
  const { sqlIn, shards, moment, drop } = await openShardedDatabase(url)
  const [name] = shards as [string]
  const run = (statement: string, parameters?: unknown[]) => sqlIn(name, statement, parameters)
  for (const tenant of tenants)
    await run("INSERT INTO tenants (name, created) VALUES (?, CURRENT_TIMESTAMP(3))", [tenant])
  return { url: Object.assign(new URL(url), { pathname: `/${name}` }).href, query: run, sql: run, moment, drop }
}

export async function openPlanned(target: PlannedTarget): Promise<PlannedDatabase> {
  const tables = await openTables(target, ["many", "more"])
  const database = await openDatabase({ url: tables.url, poolSize: 1 })
  const recorded: Ran[] = []
  const analyze = async (...names: string[]) => {
    if (target === "sqlite") return
    // PostgreSQL counts by an index alone only if it knows which rows are visible to all transactions.
    for (const name of names)
      await tables.query(`${target === "postgres" ? "VACUUM ANALYZE" : "ANALYZE TABLE"} ${name}`)
  }
  const recording = (changes = false) => recordingDatabase(database, recorded, { changes })
  return {
    tables,
    database,
    plans: plansOf(target, database),
    recorded,
    recording,
    recordingStore: ({ changes = true, ...options } = {}) =>
      sqlStore(recording(changes), { encryptionKeys, ...options }),
    async fill(tenant) {
      const hash = hashOf(target, "n")
      const rows: [table: string, columns: string, values: string][] = [
        ["users", "id, email_key, extra", "n, n, '{}'"],
        ["accounts", "provider, provider_account_id, user_id, type, extra", "'p', n, n, 'oauth', '{}'"],
        ["sessions", "token_hash, user_id, expires, extra", `${hash}, n, now(), '{}'`],
        ["session_policies", "provider", "n"],
        ["ended_tokens", "key_hash, ended, expires", `${hash}, now(), now()`],
        ["verification_tokens", "identifier, token_hash, expires", `n, ${hash}, now()`],
        [
          "authenticators",
          "credential_id, user_id, provider_account_id, credential_public_key, counter, credential_device_type, credential_backed_up, extra",
          "n, n, n, '', 0, '', true, '{}'",
        ],
      ]
      for (const [table, columns, values] of rows) {
        await tables.query(`INSERT INTO ${table} (tenant, ${columns}) SELECT '${tenant}', ${values}
          FROM (SELECT CONCAT('filling ', n) AS n FROM ${numbersTo(2_000)}) AS filling`)
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
