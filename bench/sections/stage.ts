import type { ContenderName } from "../contenders/contenders.ts"
import { contenders } from "../contenders/contenders.ts"
import { type LoadedDatabase, loadDatabase, type SchemaName } from "../data/loaded-database.ts"
import type { MysqlServer } from "../data/mysql-server.ts"
import { type Side, startSide } from "../load/sides.ts"
import { type ServerProcess, startAuthwire, startEcho, startRest } from "../servers/processes.ts"

/** Loads databases and starts servers and contenders as they are asked for, each once, and stops them at the end. */
export interface Stage {
  readonly mysql: MysqlServer
  readonly say: (text: string) => void
  database(schema: SchemaName, users: number): Promise<LoadedDatabase>
  /** A contender, on the data of so many users, checked to find it. Its CPU is told with its server's and MySQL's. */
  side(name: ContenderName, users: number): Promise<Side>
  /** Stops the contenders and servers. The databases stay. */
  clear(): Promise<void>
}

export function openStage(mysql: MysqlServer, say: (text: string) => void): Stage {
  const databases = new Map<string, Promise<LoadedDatabase>>()
  const servers = new Map<string, Promise<ServerProcess>>()
  const sides: Side[] = []

  const once = <T>(made: Map<string, Promise<T>>, key: string, make: () => Promise<T>): Promise<T> => {
    const value = made.get(key) ?? make()
    made.set(key, value)
    return value
  }
  const database = (schema: SchemaName, users: number) =>
    once(databases, `${schema} ${users}`, () => loadDatabase(mysql, schema, users, say))

  const starts = { authwire: startAuthwire, rest: startRest, echo: startEcho }

  return {
    mysql,
    say,
    database,
    async side(name, users) {
      const { schema, server } = contenders[name]
      const databaseUrl = schema === null ? undefined : (await database(schema, users)).url
      const process =
        server === null
          ? undefined
          : await once(servers, `${server} ${databaseUrl}`, () => starts[server](databaseUrl ?? ""))
      const places = { ...(databaseUrl === undefined ? {} : { databaseUrl }), ...process?.places }
      const side = await startSide(name, places, [process?.pid ?? 0, mysql.pid ?? 0])
      sides.push(side)
      await side.check(users)
      return side
    },
    async clear() {
      for (const side of sides.splice(0)) await side.stop()
      for (const server of servers.values()) await (await server).stop()
      servers.clear()
    },
  }
}
