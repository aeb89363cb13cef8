import { oneAtATime } from "../../../util/one-at-a-time.js"
import type { Database, Shards } from "../database.js"
import type { SqlEngine } from "../engine/engine.js"
import type { Cell } from "../query/statement.js"
import { StatementError, storeError } from "../query/statement-error.js"
import { globalOf, vindex } from "./vschema.js"

/** Returns the database that has the rows of a tenant. Closing it closes the given one. */
export async function homeOf(database: Database, tenant: string): Promise<Database> {
  const home = await database.shards?.of(tenant)
  return home === undefined ? database : { ...home, close: database.close }
}

/**
 * Opens a sharded keyspace: the database of its unsharded one, with the shards.
 *
 * @param keyspace the name of the sharded keyspace.
 * @param router an engine whose connections have the keyspace as a whole. It is closed at the end.
 * @param open opens a keyspace, or a shard as `KEYSPACE:SHARD`.
 */
export async function openSharded(
  keyspace: string,
  router: SqlEngine,
  open: (name: string) => Promise<Database>,
): Promise<Database> {
  const opened: Database[] = []
  try {
    const global = await open(globalOf(keyspace))
    opened.push(global)
    const shards = await openShards(keyspace, router, open)
    return {
      ...global,
      shards,
      load() {
        const [first, ...others] = [global, ...shards.all()].map(({ load }) => load())
        return others.reduce(
          (sum, one) => ({
            limit: sum.limit + one.limit,
            active: sum.active + one.active,
            waiting: sum.waiting + one.waiting,
            waitingForRows: sum.waitingForRows + one.waitingForRows,
          }),
          first as ReturnType<Database["load"]>,
        )
      },
      async close() {
        await Promise.all([shards.close(), global.close()])
      },
    }
  } catch (error) {
    await Promise.all([router.close(), ...opened.map((one) => one.close())])
    throw error
  }
}

async function openShards(
  keyspace: string,
  router: SqlEngine,
  open: (name: string) => Promise<Database>,
): Promise<Shards> {
  let databases = new Map<string, Database>()
  let ofTenants = new Map<string, Promise<Database>>()

  async function read(sql: string, cells?: Cell[]): Promise<string[]> {
    const connection = await router.connect()
    try {
      return (await connection.run(sql, cells)).rows.map(([cell]) => String(cell))
    } finally {
      connection.release()
    }
  }

  /** Vitess itself says where a tenant is, so that nothing here knows how. It answers without asking a database. */
  async function locate(tenant: string): Promise<Database> {
    try {
      const [name] = await read(`SELECT shard FROM \`${vindex}\` WHERE id = ?`, [Buffer.from(tenant)])
      const database = databases.get(String(name))
      if (database === undefined) throw new StatementError("unavailable", `the shard ${name} is not open yet`)
      return database
    } catch (error) {
      throw storeError(error)
    }
  }

  const refresh = oneAtATime(async () => {
    const prefix = `${keyspace}/`
    const names = (await read("SHOW VITESS_SHARDS")).filter((name) => name.startsWith(prefix))
    const serving = names.map((name) => name.slice(prefix.length))
    if (serving.length === databases.size && serving.every((name) => databases.has(name))) return
    const next = new Map<string, Database>()
    const before = databases
    try {
      for (const name of serving) next.set(name, before.get(name) ?? (await open(`${keyspace}:${name}`)))
    } catch (error) {
      for (const [name, database] of next) if (!before.has(name)) await database.close()
      throw error
    }
    databases = next
    ofTenants = new Map()
    for (const [name, database] of before) if (!next.has(name)) await database.close()
  })

  await refresh()
  return {
    all: () => [...databases.values()],
    of(tenant) {
      const found = ofTenants
      let database = found.get(tenant)
      if (database === undefined) {
        database = locate(tenant)
        found.set(tenant, database)
        database.catch(() => found.delete(tenant))
      }
      return database
    },
    refresh: () =>
      refresh().catch((error: unknown) => {
        throw storeError(error)
      }),
    async close() {
      await Promise.all([router.close(), ...[...databases.values()].map((one) => one.close())])
    },
  }
}
