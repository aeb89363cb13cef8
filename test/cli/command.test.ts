import { mkdtemp, readdir, readFile, rm } from "node:fs/promises"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { listen } from "@authwire/test-support/connections/free-port.js"
import { createDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { run, startServer, staticKey, testSecret } from "@authwire/test-support/processes/server.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

describe("authwire", () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await createDatabase("sqlite")
    // Makes the file, which `migrate status` does not.
    await database.query("SELECT 1")
  })
  afterAll(() => database.drop())

  test("--help and --version print their text, and an error is one line on standard error with exit code 2", async () => {
    const help = await run(["--help"])
    expect(help).toMatchObject({ code: 0, stdout: expect.stringMatching(/^ {2}serve /m), stderr: "" })
    expect(await run(["help"])).toEqual(help)
    expect(await run(["--version"])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^authwire \d+\.\d+\.\d+\n$/),
    })
    const { code, stdout, stderr } = await run(["serve", "--dev"], { AUTHWIRE_MAX_DEADLINE_MS: "soon" })
    expect(stderr).toMatch(/^authwire: AUTHWIRE_MAX_DEADLINE_MS: must be a whole number.*\n$/)
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" })
  })

  test("the options of a group may also precede the command", async () => {
    const { code, stdout } = await run(["migrate", `--database-url=${database.url}`, "status"])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^pending /)
  })

  test.each([
    [
      "mysql://user:hunter2@127.0.0.1:1/authwire",
      /at mysql:\/\/user@127\.0\.0\.1:1\/authwire: no server answers \(connect ECONNREFUSED 127\.0\.0\.1:1\): is /,
    ],
    [
      "mysql://user:hunter2@127.0.0.1:1,127.0.0.1:2/authwire",
      /at mysql:\/\/user@127.* 127\.0\.0\.1:1: no server answers \(.*; 127\.0\.0\.1:2: no server answers \(/,
    ],
    // A password that is not escaped is parsed as the path of the URL.
    [
      "mysql://127.0.0.1:1/hunter2@db:3306/authwire",
      /at mysql:\/\/127\.0\.0\.1@db:3306\/authwire: no server answers \(ECONNREFUSED\)/,
    ],
  ])("serve with an unreachable database at %s: one line without the password, exit code 1", async (url, expected) => {
    const { code, stdout, stderr } = await run(["serve"], { AUTH_SECRET: testSecret, AUTHWIRE_DATABASE_URL: url })
    expect(stderr).toMatch(/^authwire: cannot open the database .*\n$/)
    expect(stderr).toMatch(expected)
    expect(stderr).not.toContain("hunter2")
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
  })

  test("pending migrations: one line, exit code 1; migrate status, up and down; then it serves", async () => {
    const env = {
      AUTH_SECRET: testSecret,
      AUTHWIRE_DATABASE_URL: database.url,
      AUTHWIRE_GRPC_ADDR: "127.0.0.1:0",
      AUTHWIRE_HTTP_ADDR: "127.0.0.1:0",
    }
    const rejected = await run(["serve"], env)
    expect(rejected.stderr).toMatch(/^authwire: \d+ migrations? (is|are) pending.*authwire migrate up.*--migrate\n$/)
    expect(rejected.code).toBe(1)

    const before = await run(["migrate", "status"], env)
    expect(before).toMatchObject({ code: 0, stderr: "" })
    expect(before.stdout).toMatch(/^pending /m)
    expect(before.stdout).not.toMatch(/^applied /m)
    // Whether replicas of the previous version can keep serving after a migration.
    expect(before.stdout).toMatch(/^pending 0001-initial\n {2}the previous version can run on it: yes, because \S/m)

    const up = await run(["migrate", "up"], env)
    expect(up).toMatchObject({ code: 0, stderr: "" })
    const after = await run(["migrate", "status"], env)
    expect(after.stdout).toMatch(/^(applied \d{4}-[a-z-]+\n)+$/)
    expect(await run(["migrate", "up"], env)).toMatchObject({ code: 0, stdout: "nothing is pending\n" })

    const applied = after.stdout.trim().split("\n").length
    for (let index = 0; index < applied; index++) expect((await run(["migrate", "down"], env)).code).toBe(0)
    expect(await run(["migrate", "down"], env)).toMatchObject({ code: 0, stdout: "nothing is applied\n" })
    expect((await run(["migrate", "status"], env)).stdout).toBe(before.stdout)

    await run(["migrate", "up"], env)
    const server = await startServer({ databaseUrl: database.url })
    expect((await fetch(`${server.httpUrl}/readyz`)).status).toBe(200)
    expect(await server.stop("SIGINT")).toBe(0)
  })

  test("commands that only read leave a SQLite file as it is, without a write-ahead log if it has none", async () => {
    const other = await createDatabase("sqlite")
    const folder = await mkdtemp(join(tmpdir(), "authwire-read-"))
    const file = join(folder, "a.db")
    const env = { AUTHWIRE_DATABASE_URL: `sqlite:${file}`, AUTH_SECRET: testSecret }
    await run(["migrate", "up"], { ...env, AUTHWIRE_DATABASE_URL: other.url })
    await other.query("PRAGMA journal_mode = DELETE")
    await other.query("VACUUM INTO ?", [file])
    const before = await readFile(file)
    const source = `--url=${other.url}`
    const commands = [["migrate", "status"], ["export"], ["doctor"], ["keys", "list"], ["tenants", "list"]]
    for (const command of [...commands, ["import", "--from=authwire", source]]) {
      expect(await run(command, env)).toMatchObject({ code: 0 })
    }
    const [from, into] = [`--url=sqlite:${file}`, `--database-url=${other.url}`]
    expect(await run(["import", "--from=authwire", from, into, "--apply"], env)).toMatchObject({ code: 0 })
    expect(await readFile(file)).toEqual(before)
    expect(await readdir(folder)).toEqual(["a.db"])
    await rm(folder, { recursive: true })
    await other.drop()
  })

  test("a table of another application that blocks a migration: one line that names it, exit code 1", async () => {
    const shared = await createDatabase("sqlite")
    await shared.query("CREATE TABLE events (id INTEGER PRIMARY KEY)")
    const { code, stderr } = await run(["migrate", "up"], { AUTHWIRE_DATABASE_URL: shared.url })
    expect(stderr).toBe('authwire: migrate up: table "events" already exists (SQLITE_ERROR)\n')
    expect(code).toBe(1)
    await shared.drop()
  })

  test("a migration of a newer version is reported as unknown, and served with a warning; down reports why it is impossible", async () => {
    const newer = await createDatabase("sqlite")
    const env = { AUTHWIRE_DATABASE_URL: newer.url }
    await run(["migrate", "up"], env)
    await newer.query("INSERT INTO authwire_migrations (timestamp, name) VALUES (9000000000000, 'future9000000000000')")
    const { stdout } = await run(["migrate", "status"], env)
    expect(stdout).toMatch(/^unknown .*future/m)
    const down = await run(["migrate", "down"], env)
    expect(down.code).toBe(1)
    expect(down.stderr).toMatch(/^authwire: migrate down: /)
    expect(down.stderr.trim().split("\n")).toHaveLength(1)
    const server = await startServer({ databaseUrl: newer.url })
    expect(server.output()).toContain("migrations of a newer version")
    await server.stop()
    await newer.drop()
  })

  test("an address that cannot be listened on: one line that names the flag, exit code 1", async () => {
    const taken = createServer()
    const port = await listen(taken)
    const env = { AUTH_SECRET: testSecret, AUTHWIRE_API_KEYS: JSON.stringify([staticKey(["all"]).entry]) }
    const args = [
      "serve",
      "--migrate",
      "--insecure-behind-proxy",
      "--log-level=silent",
      `--database-url=${database.url}`,
    ]
    const inUse = "in use by another process: stop it, or choose another address (port 0 picks a free one)"
    for (const [flag, other, address, problem] of [
      ["--grpc-addr", "--http-addr", `127.0.0.1:${port}`, `127.0.0.1:${port} is ${inUse}`],
      ["--http-addr", "--grpc-addr", `127.0.0.1:${port}`, `127.0.0.1:${port} is ${inUse}`],
      ["--grpc-addr", "--http-addr", "192.0.2.1:5", "this machine has no address 192.0.2.1"],
    ]) {
      const { code, stderr } = await run([...args, `${flag}=${address}`, `${other}=127.0.0.1:0`], env)
      expect(stderr).toBe(`authwire: ${flag}: ${problem}\n`)
      expect(code).toBe(1)
    }
    taken.close()
  })

  test("--dev creates ./.authwire/, migrates, keeps an audit, and prints commands to try", async () => {
    const folder = await mkdtemp(join(tmpdir(), "authwire-dev-"))
    const previous = process.cwd()
    process.chdir(folder)
    try {
      const server = await startServer({ databaseUrl: "", args: ["--dev"], env: { AUTHWIRE_AUDIT_STORE: "" } })
      expect(server.output()).toMatch(/grpcurl -plaintext 127\.0\.0\.1:\d+ list/)
      expect((await fetch(`${server.httpUrl}/readyz`)).status).toBe(200)
      const env = { AUTHWIRE_URL: server.grpcUrl }
      await run(["users", "create", "--email=ann@example.com"], env)
      const { stdout } = await run(["audit"], env)
      expect(await server.stop()).toBe(0)
      expect(stdout).toMatch(/ UserService\/CreateUser +\S+ +OK\n$/)
      // No repository includes its content: a secret and a database.
      expect(await readFile(join(folder, ".authwire", ".gitignore"), "utf8")).toBe("*\n")
    } finally {
      process.chdir(previous)
      await rm(folder, { recursive: true })
    }
  })
})
