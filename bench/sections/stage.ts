import { type ContenderName, contenders } from "../contenders/contenders.ts"
import { type LoadedDatabase, loadDatabase } from "../data/loaded-database.ts"
import type { MysqlServer } from "../data/mysql-server.ts"
import type { SchemaName } from "../data/schemas.ts"
import { type Side, startSide } from "../load/sides/start-side.ts"
import { type ServerProcess, servers } from "../servers/processes.ts"

/** Loads databases and starts servers and contenders on demand, each once. Removes them at the end. */
export interface Stage {
  readonly say: (text: string) => void
  database(schema: SchemaName, users: number): Promise<LoadedDatabase>
  /**
   * Starts a contender on the data of that many users, and checks that it finds them. The CPU time of its server and of
   * MySQL is measured too.
   */
  side(name: ContenderName, users: number): Promise<Side>
  /** Stops the contenders and servers, and removes the databases. */
  clear(): Promise<void>
}

export function openStage(mysql: MysqlServer): Stage {
  const databases = new Map<string, Promise<LoadedDatabase>>()
  const started = new Map<string, Promise<ServerProcess>>()
  const sides: Side[] = []
  const begun = performance.now()
  const say = (text: string) => process.stderr.write(`${Math.round((performance.now() - begun) / 1000)} s  ${text}\n`)

  const once = <T>(made: Map<string, Promise<T>>, key: string, make: () => Promise<T>): Promise<T> => {
    const value = made.get(key) ?? make()
    made.set(key, value)
    return value
  }
  const database = (schema: SchemaName, users: number) =>
    once(databases, `${schema} ${users}`, () => loadDatabase(mysql, schema, users, say))

  return {
    say,
    database,
    async side(name, users) {
      const { schema, server } = contenders[name]
      const databaseUrl = schema === null ? "" : (await database(schema, users)).url
      const process = server && (await once(started, `${server} ${databaseUrl}`, () => servers[server](databaseUrl)))
      const side = await startSide(name, { databaseUrl, ...process?.endpoints }, [process?.pid ?? 0, mysql.pid ?? 0])
      sides.push(side)
      await side.check(users)
      return side
    },
    async clear() {
      for (const side of sides.splice(0)) await side.stop()
      for (const server of started.values()) await (await server).stop()
      for (const database of databases.values()) await (await database).drop()
      started.clear()
      databases.clear()
    },
  }
}
