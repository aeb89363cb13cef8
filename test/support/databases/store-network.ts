import { openSqlStore, type SqlStore } from "../../../server/src/store/sql/index.js"
import { anyone, encryptionKeys, newSession, newUser, range } from "../store-contract/context.js"
import type { StoreDatabase } from "../store-contract/contract.js"
import { type ServerEngine, type TcpProxy, type TestDatabase, tcpProxy } from "./databases.js"
import { plainSql } from "./plain-sql.js"
import { createStoreDatabase } from "./store-database.js"

/** What each database has. */
export const user = newUser({ name: "Ada" })
export const others = range(20).map((n) => newUser({ name: String(n) }))
export const session = newSession(user.id, Date.now() + 86_400_000)

/** A database behind a proxy, and stores that use it through the proxy. */
export interface Network {
  readonly database: StoreDatabase & TestDatabase
  readonly proxy: TcpProxy
  readonly store: SqlStore
  /** A second store, with timeouts that are longer than any test. */
  readonly patient: SqlStore
  readonly isPostgres: boolean
  urlThrough(port: number, changes?: Partial<URL>): string
  /** Reads the ids of the other users, each by its own statement, over all connections. */
  readAll(store?: SqlStore): Promise<string[]>
  sleep(seconds: number): string
  close(): Promise<void>
}

/** Creates a database with a proxy, opens the stores, and writes the users and the session. */
export async function openNetwork(target: ServerEngine): Promise<Network> {
  const database = await createStoreDatabase(target)
  const { hostname, port } = new URL(database.url)
  const proxy = await tcpProxy(Number(port || 3306), hostname)
  const urlThrough = (port: number, changes: Partial<URL> = {}) =>
    Object.assign(new URL(database.url), { host: `127.0.0.1:${port}` }, changes).href
  const store = await openSqlStore({
    encryptionKeys,
    url: urlThrough(proxy.port),
    poolSize: 4,
    statementTimeoutMs: 3_000,
    connectTimeoutMs: 3_000,
  })
  const patient = await openSqlStore({
    encryptionKeys,
    url: urlThrough(proxy.port),
    statementTimeoutMs: 60_000,
    connectTimeoutMs: 60_000,
  })
  for (const each of [user, ...others]) await patient.users.create(anyone, each)
  await patient.sessions.create(anyone, session)
  const isPostgres = target === "postgres"
  return {
    database,
    proxy,
    store,
    patient,
    isPostgres,
    urlThrough,
    readAll: ({ database } = store) =>
      Promise.all(
        others.map(async ({ id }) => {
          const [[found] = []] = await database
            .reads({})
            .read(plainSql("SELECT id FROM users WHERE id = ?", target), [id])
          return String(found)
        }),
      ),
    sleep: (seconds) => (isPostgres ? `SELECT pg_sleep(${seconds})` : `SELECT SLEEP(${seconds})`),
    async close() {
      await patient.close()
      await store.close()
      await proxy.close()
      await database.drop()
    },
  }
}
