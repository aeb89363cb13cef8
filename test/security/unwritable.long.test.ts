import { mkdtempSync, renameSync, statSync } from "node:fs"
import { join } from "node:path"
import { createAuthwireClient } from "@authwire/client"
import { Health, HealthCheckResponse_ServingStatus as Status } from "@authwire/proto/health"
import {
  createDatabaseOn,
  type DatabaseTarget,
  ownServers,
  sqliteDatabase,
  startPrivateDatabase,
  type TestDatabase,
} from "@authwire/test-support/databases/databases.js"
import { tableNames } from "@authwire/test-support/databases/declared-tables.js"
import { migrate } from "@authwire/test-support/databases/migrate.js"
import { createUser, endConnections } from "@authwire/test-support/databases/server-sql.js"
import { type FillableDisk, hasMountNamespaces, mountDisk } from "@authwire/test-support/machine/small-disk.js"
import { logOf } from "@authwire/test-support/processes/log.js"
import { type ServerProcess, startServer } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { createClient } from "@connectrpc/connect"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

/** Something because of which writes fail. */
interface Cause {
  name: string
  engines: readonly DatabaseTarget[]
  begin(on: Running): unknown
  end(on: Running): unknown
  /** What /readyz and the log say. */
  says: string
  /** The message of the database. It may name users, hosts and files, so that only the log has it. */
  message: RegExp
}

interface Running {
  target: DatabaseTarget
  database: TestDatabase
  /** The disk with the files of the database. */
  disk: FillableDisk | undefined
}

const mysqls = ["mysql", "mariadb"] as const
const servers = [...mysqls, "postgres"] as const
const onAll = ["sqlite", ...servers] as const
const nameOf = ({ url }: TestDatabase) => new URL(url).pathname.slice(1)
const fileOf = ({ url }: TestDatabase) => url.slice("sqlite:".length)

const grantsOf = async ({ query, target }: TestDatabase, right: string, how: "GRANT" | "REVOKE", tables: string[]) => {
  const role = target === "postgres" ? '"authwire"' : "'authwire'@'%'"
  for (const table of tables) await query(`${how} ${right} ON ${table} ${how === "GRANT" ? "TO" : "FROM"} ${role}`)
}

const readOnly = async ({ database }: Running, value: "on" | "off") => {
  await database.query(`ALTER ROLE "authwire" SET default_transaction_read_only = ${value}`)
  await endConnections(database, "authwire")
}

const causes: Cause[] = [
  {
    name: "the disk is full",
    engines: hasMountNamespaces() ? onAll : [],
    begin: ({ disk }) => disk?.fill(),
    end: ({ disk }) => disk?.free(),
    says: "the disk is full",
    message: /database or disk is full|No space left on device|The table '\w+' is full/,
  },
  {
    name: "the role may not insert",
    engines: servers,
    begin: async ({ database }) => grantsOf(database, "INSERT", "REVOKE", await tableNames(database)),
    end: async ({ database }) => grantsOf(database, "INSERT", "GRANT", await tableNames(database)),
    says: "the user lacks a right",
    message: /INSERT command denied to user|permission denied for table|INSERT on/,
  },
  {
    name: "the role may not insert into one table",
    engines: servers,
    begin: ({ database }) => grantsOf(database, "INSERT", "REVOKE", ["users"]),
    end: ({ database }) => grantsOf(database, "INSERT", "GRANT", ["users"]),
    says: "the user lacks a right",
    message: /INSERT on users/,
  },
  {
    name: "a table is missing",
    engines: onAll,
    begin: ({ database }) => database.query("ALTER TABLE authenticators RENAME TO elsewhere"),
    end: ({ database }) => database.query("ALTER TABLE elsewhere RENAME TO authenticators"),
    says: "a table is missing",
    message: /authenticators/,
  },
  {
    name: "the server is read-only",
    engines: mysqls,
    begin: ({ database }) => database.query("SET GLOBAL read_only = 1"),
    end: ({ database }) => database.query("SET GLOBAL read_only = 0"),
    says: "the server accepts no writes",
    message: /read-only/,
  },
  {
    name: "transactions are read-only",
    engines: ["postgres"],
    begin: (on) => readOnly(on, "on"),
    end: (on) => readOnly(on, "off"),
    says: "the server accepts no writes",
    message: /read-only/,
  },
  {
    name: "the file was moved",
    engines: ["sqlite"],
    begin: ({ database }) => renameSync(fileOf(database), `${fileOf(database)}.moved`),
    end: ({ database }) => renameSync(`${fileOf(database)}.moved`, fileOf(database)),
    says: "the file is no longer the one that was opened",
    message: /was removed or replaced/,
  },
]

/** Opens an empty database whose tables are on a disk of their own, and the URL of a role that may use them. */
async function open(target: DatabaseTarget, ends: AsyncDisposableStack): Promise<Running & { url: string }> {
  const disk = (path: string, uid = 0) => {
    if (!hasMountNamespaces()) return undefined
    const mounted = mountDisk(path, { uid, gid: uid })
    ends.defer(mounted.unmount)
    return mounted
  }
  if (target === "sqlite") {
    const folder = mkdtempSync(join(process.env.AUTHWIRE_TEST_RUN_FOLDER as string, "disk-"))
    const running = { target, disk: disk(folder), database: sqliteDatabase(join(folder, "db")) }
    ends.defer(running.database.drop)
    return { ...running, url: running.database.url }
  }
  const server = await startPrivateDatabase(target)
  if (server === null) throw new Error(`no ${target}`)
  ends.defer(server.remove)
  const database = await createDatabaseOn(server)
  let mounted: FillableDisk | undefined
  if (target === "postgres") {
    const path = join(server.dataFolder, "..", "disk")
    const { uid } = statSync(server.dataFolder)
    mounted = disk(path, uid)
    if (mounted !== undefined) {
      await database.query(`CREATE TABLESPACE disk LOCATION '${path}'`)
      await database.query(`ALTER DATABASE ${nameOf(database)} SET default_tablespace = 'disk'`)
    }
  } else mounted = disk(join(server.dataFolder, nameOf(database)))
  await migrate(database)
  const url = await createUser(database, "authwire", "password", "SELECT")
  await grantsOf(database, "INSERT, UPDATE, DELETE", "GRANT", await tableNames(database))
  if (target === "postgres") await database.query(`GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO "authwire"`)
  return { target, disk: mounted, database, url }
}

describe.each(["sqlite", ...ownServers()] as const)("writes fail on %s", (target) => {
  const ends = new AsyncDisposableStack()
  let running: Running
  let server: ServerProcess

  beforeAll(async () => {
    const opened = await open(target, ends)
    running = opened
    server = await startServer({ databaseUrl: opened.url })
    ends.defer(async () => void (await server.stop()))
  }, 120_000)
  afterAll(() => ends.disposeAsync())

  const health = () => createClient(Health, createGrpcTransport({ baseUrl: server.grpcUrl }))
  const isServing = async () => (await health().check({})).status === Status.SERVING
  const readyz = async () => (await (await fetch(`${server.httpUrl}/readyz`)).text()).trim()
  const lines = () =>
    logOf(server)
      .map(({ msg }) => String(msg))
      .filter((msg) => /^not ready|^the database answers/.test(msg))

  test.each(causes.filter(({ engines }) => engines.includes(target)))(
    "S-52: $name: not ready, with the cause in the answer and in the log, and reads continue",
    async ({ begin, end, says, message }) => {
      await until(() => lines().length > 0)
      const before = lines().length
      const client = createAuthwireClient({ url: server.grpcUrl, timeoutMs: 10_000 })
      ends.defer(() => client.close())
      const { adapter } = client
      const create = () => adapter.createUser({ id: crypto.randomUUID(), email: "", emailVerified: null })
      const { id } = await create()
      expect(await readyz()).toBe("ready")

      await begin(running)
      const begun = performance.now()
      let failed: number | undefined
      // On a full disk writes succeed until the pages of the tables are full.
      await until(async () => {
        await create().catch(() => {
          failed ??= performance.now()
        })
        return !(await isServing())
      }, 60_000)
      const answer = await readyz()
      expect(answer).toMatch(new RegExp(`^not ready\\n${says} `))
      expect(answer).not.toMatch(message)
      expect(performance.now() - (failed ?? begun)).toBeLessThan(10_000)
      expect(await adapter.getUser(id)).toMatchObject({ id })

      await end(running)
      await until(isServing)
      expect(await readyz()).toBe("ready")
      await create()
      expect(lines().slice(before)).toEqual([
        expect.stringMatching(new RegExp(`^not ready: ${says} .*(${message.source})`)),
        "the database answers and accepts writes",
      ])
    },
    120_000,
  )
})
