import { createConnection, type RowDataPacket } from "mysql2/promise"
import { applyMigrations, openSqlStore, type SqlStore } from "../../../server/src/store/sql/index.js"
import { encryptionKeys } from "../store-contract/context.js"
import type { StoreDatabase } from "../store-contract/contract.js"
import { until } from "../until.js"
import { plainRow } from "./store-database.js"

/** A sharded database with the tables, which this process uses alone. */
export interface ShardedDatabase extends StoreDatabase {
  openStore(options?: Parameters<StoreDatabase["openStore"]>[0]): Promise<SqlStore>
  /** Runs a statement in one keyspace or shard, such as `authwire:-80`. */
  sqlIn(name: string, statement: string, parameters?: unknown[]): Promise<Record<string, unknown>[]>
  /** The name of the sharded keyspace, and those of its shards. */
  readonly keyspace: string
  readonly shards: readonly string[]
}

/** The tables, each after those that refer to it. */
export const shardTables = [
  ...["accounts", "sessions", "authenticators", "users", "verification_tokens", "idempotency_keys", "session_policies"],
  ...[
    "events",
    "event_head",
    "audit_entries",
    "caches",
    "ended_tokens",
    "leases",
    "signing_keys",
    "api_keys",
    "tenants",
  ],
]

/** Deletes all rows of a shard. */
export async function emptyTables(sqlIn: ShardedDatabase["sqlIn"], shard: string): Promise<void> {
  for (const table of shardTables) {
    // A vttablet changes at most 10,000 rows with a statement.
    while ((await sqlIn(shard, `SELECT 1 FROM ${table} LIMIT 1`)).length > 0)
      await sqlIn(shard, `DELETE FROM ${table} LIMIT 10000`)
  }
}

/** Opens the keyspace of this run, and empties its tables. */
export async function openShardedDatabase(url: string): Promise<ShardedDatabase> {
  const keyspace = new URL(url).pathname.slice(1)
  const connection = await createConnection({ uri: url, timezone: "Z", charset: "utf8mb4" })
  const query = async (statement: string, parameters: unknown[] = []) => {
    const [rows] = await connection.query<RowDataPacket[]>(statement, parameters)
    return Array.isArray(rows) ? rows.map(plainRow) : []
  }
  let target = keyspace
  const sqlIn: ShardedDatabase["sqlIn"] = async (name, statement, parameters) => {
    if (target !== name) await query(`USE \`${name}\``)
    target = name
    return query(statement, parameters)
  }
  const shards = (await query("SHOW VITESS_SHARDS"))
    .map((row) => String(Object.values(row)[0]))
    .filter((name) => name.startsWith(`${keyspace}/`))
    .map((name) => name.replace("/", ":"))

  const stores: SqlStore[] = []
  let retries = 0
  const onRetry = () => {
    retries++
  }
  const openStore: ShardedDatabase["openStore"] = async (options = {}) => {
    const store = await openSqlStore({ encryptionKeys, url, onRetry, ...options })
    stores.push(store)
    return store
  }

  const [first] = [await openStore()]
  await applyMigrations(first.database)
  for (const name of [...shards, `${keyspace}_global`]) {
    await emptyTables(sqlIn, name)
    await sqlIn(name, "INSERT INTO tenants (name, created) VALUES ('default', CURRENT_TIMESTAMP(3))")
  }
  return {
    keyspace,
    shards,
    openStore,
    sqlIn,
    // Vitess itself finds the shards of a statement that names a tenant, or none.
    sql: (statement, parameters) =>
      sqlIn(
        /\b(api_keys|leases|signing_keys)\b/.test(statement) ? `${keyspace}_global` : keyspace,
        statement,
        parameters,
      ),
    async lockMet() {
      const before = retries
      await until(() => retries > before)
    },
    async isBeside(tenant) {
      const rows = await sqlIn(keyspace, "SELECT shard FROM `tenant` WHERE id IN ('default', ?)", [tenant])
      return new Set(rows.map(({ shard }) => shard)).size === 1
    },
    moment: (ms) => new Date(ms),
    async drop() {
      for (const store of stores) await store.close()
      await connection.end()
    },
  }
}
