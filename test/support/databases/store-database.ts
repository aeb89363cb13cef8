import { applyMigrations, openSqlStore, type SqlStore } from "../../../server/src/store/sql/index.js"
import { encryptionKeys } from "../store-contract/context.js"
import type { StoreDatabase } from "../store-contract/contract.js"
import { until } from "../until.js"
import { createDatabase, type DatabaseTarget, type Row, type TestDatabase } from "./databases.js"
import { documentedUsers } from "./documented-users.js"
import { activeStatements } from "./server-sql.js"

/**
 * Creates a database with the tables, for the store's tests.
 *
 * @param options `twoUsers`: the tables belong to one user of docs/deploying.md, and the stores connect as the other one.
 *   `tenants`: those that exist beside the default one. `serverUrl`: a server that is not the run's.
 */
export async function createStoreDatabase(
  target: DatabaseTarget,
  {
    twoUsers = false,
    tenants = [],
    serverUrl,
  }: { twoUsers?: boolean; tenants?: readonly string[]; serverUrl?: string } = {},
): Promise<StoreDatabase & TestDatabase> {
  const database = await createDatabase(target, serverUrl)
  const users = twoUsers && target !== "sqlite" ? await documentedUsers(database) : undefined
  const stores: SqlStore[] = []
  let retries = 0
  const onRetry = () => {
    retries++
  }
  /** Whether a store runs a write. Without a lock conflict, a write takes almost no time. */
  async function isWriting(): Promise<boolean> {
    if (target === "sqlite") return false
    return (await activeStatements(database)).some((sql) => /^(DELETE|INSERT|UPDATE)\b/i.test(sql))
  }

  async function openStore(options: Parameters<StoreDatabase["openStore"]>[0] = {}) {
    // Of a cluster, only `other` of the contract uses another member than that on which `sql` holds its locks.
    const member = database.urlOn(stores.length === 2 ? 1 : 0)
    const as = stores.length === 0 ? users?.owner : users?.service
    const url = as?.(member) ?? member
    const store = await openSqlStore({ encryptionKeys, url, onRetry, ...options })
    stores.push(store)
    return store
  }

  await applyMigrations((await openStore()).database)
  if (target === "postgres") await database.query(hexFunction)
  for (const name of tenants) await stores[0]?.tenants.create({}, { name, created: new Date() })
  return {
    ...database,
    openStore,
    sql: async (statement, parameters) => (await database.query(statement, parameters)).map(plainRow),
    async lockMet() {
      const before = retries
      await until(async () => retries > before || (await isWriting()))
    },
    moment: (ms) =>
      target === "sqlite" ? new Date(ms).toISOString().replace("T", " ").replace("Z", "") : new Date(ms),
    async drop() {
      for (const store of stores) await store.close()
      await users?.drop()
      await database.drop()
    },
  }
}

/** The function that the other databases have built in. */
const hexFunction =
  "CREATE FUNCTION hex(bytea) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT upper(encode($1, 'hex')) $$"

/** The engines return text and times as different types. */
export function plainRow(row: Row): Row {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plainValue(value)]))
}

function plainValue(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString("utf8")
  if (value instanceof Date) return value.getTime()
  if (typeof value === "boolean") return Number(value)
  if (typeof value === "string" && /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}$/.test(value)) {
    return Date.parse(`${value.replace(" ", "T")}Z`)
  }
  return value
}
