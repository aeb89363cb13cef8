import { chmodSync, existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import {
  createDatabase,
  createDatabaseOn,
  ownServer,
  startPrivateDatabase,
  type TestDatabase,
} from "@authwire/test-support/databases/databases.js"
import { migrate } from "@authwire/test-support/databases/migrate.js"
import { certificateFolder, serverCertificate } from "@authwire/test-support/processes/certificates.js"
import { run, startServer, testSecret } from "@authwire/test-support/processes/server.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { diagnoseTexts } from "../../server/src/doctor/database.js"
import { diagnosed } from "./diagnosed.js"

const dayMs = 86_400_000

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase("sqlite")
  await migrate(database)
})
afterAll(() => database.drop())

const doctor = (env: Record<string, string>, ...args: string[]) =>
  run(["doctor", ...args], { AUTHWIRE_DATABASE_URL: database.url, AUTH_SECRET: testSecret, ...env })

test("a file of SQLite that does not exist is reported and not created", async () => {
  const folder = mkdtempSync(join(tmpdir(), "authwire-"))
  const file = join(folder, "none.db")
  const { stdout, code } = await doctor({ AUTHWIRE_DATABASE_URL: `sqlite:${file}` })
  expect(stdout).toMatch(/^wrong +database .*none\.db: there is no such file \(ENOENT\): /m)
  expect(code).toBe(1)
  const source = await doctor({}, "--from=authwire", `--url=sqlite:${file}`)
  expect(source.stderr).toMatch(/^authwire: --url: .*\/none\.db: there is no such file \(ENOENT\): .*correct --url\n$/)
  expect(source.code).toBe(1)
  expect(existsSync(file)).toBe(false)
  rmSync(folder, { recursive: true })
})

test("text that another program has put into SQLite is named, and ends no command", async () => {
  const own = await createDatabase("sqlite")
  const env = { AUTHWIRE_DATABASE_URL: own.url, AUTH_SECRET: testSecret }
  await migrate(own)
  const insert = "INSERT INTO users (tenant, id, extra, name) VALUES ('default', ?, '{}', CAST(? AS TEXT))"
  for (const [id, hex] of Object.entries({ sound: "c3a9", latin1: "41e9", cut: "410042" })) {
    await own.query(insert, [id, Buffer.from(hex, "hex")])
  }
  const { stdout, code } = await doctor(env)
  expect(stdout).toMatch(/^wrong +text +not UTF-8, or with U\+0000: users\.name at rowid 2, users\.name at rowid 3: /m)
  expect(code).toBe(1)
  const message = "users.name is not UTF-8, or has U+0000, at rowid 2"
  expect(await run(["export"], env)).toMatchObject({ code: 1, stderr: `authwire: --database-url: ${message}\n` })
  const target = { ...env, AUTHWIRE_DATABASE_URL: database.url }
  const from = await run(["import", "--from=authwire", `--url=${own.url}`], target)
  expect(from).toMatchObject({ code: 1, stderr: `authwire: --url: ${message}\n` })
  await own.query("DELETE FROM users WHERE id <> 'sound'")
  expect(await diagnosed(own, diagnoseTexts)).toEqual([
    { state: "ok", what: "text", detail: "the newest 5000 rows of each table are UTF-8 without U+0000" },
  ])
  await own.drop()
})

test("a secret that an application may read in another way is named, and never shown", async () => {
  const env = { AUTH_SECRET: `"${testSecret}"` }
  const { stdout } = await doctor(env)
  expect(stdout).toMatch(
    /^warning +secret +AUTH_SECRET: is in quotes: does the application use exactly the same bytes\?$/m,
  )
  const server = await startServer({ databaseUrl: database.url, env })
  await server.stop()
  expect(server.log()).toContain('"msg":"AUTH_SECRET: is in quotes')
  expect(stdout + server.output() + server.log()).not.toContain(testSecret)
})

test("a TLS key file that other users can read is reported", async () => {
  const files = certificateFolder(serverCertificate({ to: Date.now() + 90 * dayMs }))
  const well = await doctor({}, ...files.args)
  expect(well.stdout).toMatch(/^ok +TLS key +\S+ has the mode 0600$/m)
  expect(well.code).toBe(0)
  chmodSync(files.keyFile, 0o644)
  const open = await doctor({}, ...files.args)
  expect(open.stdout).toMatch(/^wrong +TLS key +\S+ has the mode 0644: other users can read it: use chmod 600$/m)
  expect(open.code).toBe(1)
  files.remove()
})

// The variables are those of MySQL and MariaDB.
const engine = ownServer(["mysql", "mariadb"])
;(engine === undefined ? describe.skip : describe)("settings of the database", () => {
  test("small packets, few connections, commits that a crash loses, a log of statements, a read-only server, and a wrong clock", async () => {
    const server = await startPrivateDatabase(engine, ["--log-bin=log", "--server-id=1"])
    if (server === null) throw new Error("no server")
    try {
      const own = await createDatabaseOn(server)
      await migrate(own)
      const env = { AUTHWIRE_DATABASE_URL: own.url }
      const before = await doctor(env)
      expect(before.stdout).toMatch(/^ok +max_allowed_packet +\d+$/m)
      expect(before.stdout).toMatch(/^warning +innodb_flush_log_at_trx_commit +2: should be 1/m)
      expect(before.stdout).toMatch(/^ok +clock /m)
      expect(before.code).toBe(0)

      await own.query("SET GLOBAL max_allowed_packet = 1048576")
      const small = await doctor(env)
      expect(small.stdout).toMatch(/^wrong +max_allowed_packet +1048576: must be at least 4194304: /m)
      expect(small.code).toBe(1)
      await own.query("SET GLOBAL max_allowed_packet = 67108864")

      await own.query("SET GLOBAL max_connections = 10")
      await own.query("SET GLOBAL binlog_format = 'STATEMENT'")
      const few = await doctor(env)
      expect(few.stdout).toMatch(
        /^wrong +connections +10 are allowed, and one process .* may open 12, .* of the server: raise its max_connections/m,
      )
      expect(few.stdout).toMatch(/^wrong +binlog_format +STATEMENT: must be ROW/m)
      const more = await doctor(env, "--database-pool-size=8")
      expect(more.stdout).toMatch(/^ok +connections +10 are allowed, and one process .* may open 10$/m)
      await own.query("SET GLOBAL max_connections = 400")
      await own.query("SET GLOBAL binlog_format = 'ROW'")

      // The clock of this process is ten minutes ahead; that of the database is the machine's.
      const ahead = "const now = Date.now; Date.now = () => now() + 600000"
      const off = await doctor({ ...env, NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(ahead)}` })
      expect(off.stdout).toMatch(/^wrong +clock +(599|600)\d{3} ms away from the database's: /m)
      expect(off.code).toBe(1)

      await own.query("SET GLOBAL read_only = 1")
      const readOnly = await doctor(env)
      expect(readOnly.stdout).toMatch(/^wrong +read_only +ON: must be OFF/m)
      expect(readOnly.code).toBe(1)
    } finally {
      await server.remove()
    }
  }, 180_000)
})
