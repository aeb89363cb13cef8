import { mkdtemp, readFile, rm } from "node:fs/promises"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { run, startServer, staticKey, testSecret } from "@authwire/test-support/processes/server.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { optionsOf } from "../../server/src/config/options.js"

describe("authwire", () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await createDatabase("sqlite")
  })
  afterAll(() => database.drop())

  test("--help names every command", async () => {
    const { code, stdout, stderr } = await run(["--help"])
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    for (const line of [
      /^ {2}serve /m,
      /^ {2}migrate .*\(up, down\), or list/m,
      /^ {2}rekey /m,
      /^ {2}cleanup /m,
      /^ {2}import /m,
      /^ {2}export /m,
      /^ {2}doctor /m,
      /^ {2}keys .*Create, list or revoke API keys/m,
      /^ {2}tenants .*Create or list tenants/m,
      /^ {2}events .*Print events/m,
      /^ {2}authwire serve --dev$/m,
    ]) {
      expect(stdout).toMatch(line)
    }
    expect(await run(["help"])).toEqual({ code, stdout, stderr })
  })

  test.each(["serve", "migrate up", "keys create", "import", "export", "doctor"])(
    "%s --help names every option and variable of the command, and no other",
    async (command) => {
      const { code, stdout, stderr } = await run([...command.split(" "), "--help"])
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
      const known = optionsOf(command).map(([, option]) => option)
      const flags = known.flatMap(({ flag }) => flag ?? []).concat("help")
      expect([...stdout.matchAll(/^ {2}(?:-h, )?--([a-z-]+)/gm)].map(([, flag]) => flag).sort()).toEqual(flags.sort())
      const text = stdout.replaceAll(/\s+/g, " ")
      for (const { variable, help, default: preset } of known) {
        expect(text).toContain(help)
        if (variable !== undefined) expect(text).toContain(variable)
        if (preset !== undefined) expect(text).toContain(`default: ${preset}`)
      }
    },
  )

  test("--version", async () => {
    expect(await run(["--version"])).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^authwire \d+\.\d+\.\d+\n$/),
      stderr: "",
    })
  })

  test.each([
    [
      "no command",
      [],
      /^authwire: the commands are serve, migrate, rekey, cleanup, import, export, doctor, keys, tenants and events/,
    ],
    ["an unknown command", ["start"], /^authwire: the commands are/],
    ["an unknown option", ["serve", "--nope"], /^authwire: .*--nope; see authwire serve --help/],
    ["a mistyped option", ["serve", "--grpc-adr", "x"], /^authwire: .*--grpc-adr \(did you mean --grpc-addr\?\)/],
    ["an option without its value", ["serve", "--database-url"], /^authwire: --database-url: needs a value/],
    ["an option in place of a value", ["serve", "--audit-log", "--dev"], /^authwire: --audit-log: needs a value/],
    ["a value that has no place", ["migrate", "up", "--dev=x"], /^authwire: --dev: takes no value/],
    [
      "an option of another command",
      ["keys", "list", "--grpc-addr=off"],
      /^authwire: .*--grpc-addr; see authwire keys/,
    ],
    ["an argument too many", ["serve", "x"], /^authwire: serve takes options only/],
    ["no secret", ["serve", "--database-url=sqlite:x"], /^authwire: AUTH_SECRET: is required.*--dev/],
    ["an import from nobody", ["import", "--dev", "--url=sqlite:x"], /^authwire: --from: is required: prisma, drizzle/],
    ["an import from nowhere", ["import", "--dev", "--from=prisma"], /^authwire: --url: is required with --from/],
    [
      "an import that writes and does not",
      ["import", "--dev", "--from=prisma", "--url=sqlite:x", "--apply", "--dry-run"],
      /^authwire: --apply, --dry-run: only one of them may be set/,
    ],
    [
      "an import from itself",
      ["import", "--dev", "--from=authwire", "--url=sqlite:x", "--database-url=sqlite:x"],
      /^authwire: --url: must be another database than --database-url/,
    ],
    ["no database", ["serve"], /^authwire: --database-url: is required.*--dev/],
    ["a wrong database", ["serve", "--database-url=oracle://x/y"], /^authwire: --database-url: must be mysql:/],
    ["a wrong address", ["serve", "--dev", "--grpc-addr=50051"], /^authwire: --grpc-addr: must be HOST:PORT/],
    ["a wrong port", ["serve", "--dev", "--http-addr=127.0.0.1:70000"], /^authwire: --http-addr: must be HOST:PORT/],
    [
      "an open address with --dev",
      ["serve", "--dev", "--grpc-addr=0.0.0.0:0"],
      /^authwire: --grpc-addr: with --dev only a loopback/,
    ],
    [
      "both listeners off",
      ["serve", "--dev", "--grpc-addr=off", "--http-addr=off"],
      /^authwire: --grpc-addr, --http-addr: one of the listeners/,
    ],
    [
      "a wrong number",
      ["serve", "--dev", "--database-pool-size=0"],
      /^authwire: --database-pool-size: must be a whole number from 1 to 1000/,
    ],
    ["a wrong choice", ["serve", "--dev", "--log-level=loud"], /^authwire: --log-level: must be one of trace, debug/],
    [
      "a wrong migration command",
      ["migrate", "sideways", "--dev"],
      /^authwire: migrate: must be one of up, down, status/,
    ],
  ])("%s: one line that says what to do, exit code 2", async (_, args, message) => {
    const { code, stdout, stderr } = await run(args)
    expect(stderr).toMatch(message)
    expect(stderr.trim().split("\n")).toHaveLength(1)
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" })
  })

  test("arguments are never printed, because one may be a secret in the wrong place", async () => {
    const secret = "hunter2-hunter2"
    for (const args of [[secret], ["serve", `--nope=${secret}`], ["serve", `--dev=${secret}`], ["keys", secret]]) {
      const { code, stdout, stderr } = await run(args)
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" })
      expect(stderr).not.toContain("hunter2")
    }
  })

  test("the options of a group may also precede the command", async () => {
    const { code, stdout } = await run(["migrate", `--database-url=${database.url}`, "status"])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^pending /)
  })

  test("an error in a variable names the variable", async () => {
    const { stderr } = await run(["serve", "--dev"], { AUTHWIRE_MAX_DEADLINE_MS: "soon" })
    expect(stderr).toMatch(/^authwire: AUTHWIRE_MAX_DEADLINE_MS: must be a whole number/)
  })

  test("an unreachable database: one line, without the password, exit code 1", async () => {
    const url = "mysql://user:hunter2@127.0.0.1:1/authwire"
    const { code, stderr } = await run(["serve", `--database-url=${url}`], { AUTH_SECRET: testSecret })
    expect(stderr).toMatch(/^authwire: .*mysql:\/\/user@127\.0\.0\.1:1\/authwire.*--database-url/)
    expect(stderr.trim().split("\n")).toHaveLength(1)
    expect(stderr).not.toContain("hunter2")
    expect(code).toBe(1)
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
    expect(before.stdout).toMatch(/^pending 0002-lists\n {2}the previous version can run on it: yes, because \S/m)

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

  test("an address that cannot be listened on: one line, exit code 1", async () => {
    const args = ["serve", "--dev", "--log-level=silent", `--database-url=${database.url}`, "--http-addr=off"]
    const { code, stderr } = await run([...args, "--grpc-addr=127.0.0.300:0"])
    expect(code).toBe(1)
    expect(stderr.trim().split("\n")).toHaveLength(1)
    const gone = await run(
      [...args.filter((one) => one !== "--dev"), "--migrate", "--insecure-behind-proxy", "--grpc-addr=192.0.2.1:5"],
      { AUTH_SECRET: testSecret, AUTHWIRE_API_KEYS: JSON.stringify([staticKey(["all"]).entry]) },
    )
    expect(gone.stderr).toBe("authwire: --grpc-addr: this machine has no address 192.0.2.1\n")
    expect(gone.code).toBe(1)
  })

  test("a taken port: one line that names the flag, exit code 1", async () => {
    const taken = createServer().listen(0, "127.0.0.1")
    await new Promise((resolve) => taken.once("listening", resolve))
    const { port } = taken.address() as { port: number }
    for (const [flag, other] of [
      ["--grpc-addr", "--http-addr"],
      ["--http-addr", "--grpc-addr"],
    ]) {
      const { code, stderr } = await run(
        [
          "serve",
          "--migrate",
          `--database-url=${database.url}`,
          `${flag}=127.0.0.1:${port}`,
          `${other}=127.0.0.1:0`,
          "--log-level=silent",
        ],
        { AUTH_SECRET: testSecret },
      )
      expect(stderr).toBe(
        `authwire: ${flag}: 127.0.0.1:${port} is in use by another process: stop it, or choose another address (port 0 picks a free one)\n`,
      )
      expect(code).toBe(1)
    }
    taken.close()
  })

  test("--dev creates ./.authwire/, migrates, and prints commands to try", async () => {
    const folder = await mkdtemp(join(tmpdir(), "authwire-dev-"))
    const previous = process.cwd()
    process.chdir(folder)
    try {
      const server = await startServer({ databaseUrl: "", args: ["--dev"] })
      expect(server.output()).toMatch(/grpcurl -plaintext 127\.0\.0\.1:\d+ list/)
      expect((await fetch(`${server.httpUrl}/readyz`)).status).toBe(200)
      expect(await server.stop()).toBe(0)
      // No repository includes its content: a secret and a database.
      expect(await readFile(join(folder, ".authwire", ".gitignore"), "utf8")).toBe("*\n")
    } finally {
      process.chdir(previous)
      await rm(folder, { recursive: true })
    }
  })
})
