import { encryptionKeys } from "../../server/src/store/conformance/context.js"
import type { StoreDatabase } from "../../server/src/store/conformance.js"
import { applyMigrations, openSqlStore, type SqlStore } from "../../server/src/store/sql/index.js"
import { createDatabase, type DatabaseTarget, type Row, type TestDatabase } from "./databases.js"
import { until } from "./until.js"

/** Makes a database with the tables in it, for the store's tests. */
export async function createStoreDatabase(target: DatabaseTarget): Promise<StoreDatabase & TestDatabase> {
  const database = await createDatabase(target)
  const stores: SqlStore[] = []
  let retries = 0
  const onRetry = () => {
    retries++
  }
  /** Whether a write of a store is active, which takes no time to speak of where it meets no lock. */
  async function isWriting(): Promise<boolean> {
    if (target === "sqlite") return false
    const name = new URL(database.url).pathname.slice(1)
    const processes = await database.query("SHOW PROCESSLIST")
    return processes.some(({ db, Info }) => db === name && /^(DELETE|INSERT|UPDATE)\b/i.test(String(Info)))
  }

  async function openStore(options: Parameters<StoreDatabase["openStore"]>[0] = {}) {
    const store = await openSqlStore({ encryptionKeys, url: database.url, onRetry, ...options })
    stores.push(store)
    return store
  }

  await applyMigrations((await openStore()).database)
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
      await database.drop()
    },
  }
}

/** Text and moments come as different types from the engines. */
function plainRow(row: Row): Row {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plainValue(value)]))
}

function plainValue(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString("utf8")
  if (value instanceof Date) return value.getTime()
  if (typeof value === "string" && /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}$/.test(value)) {
    return Date.parse(`${value.replace(" ", "T")}Z`)
  }
  return value
}
