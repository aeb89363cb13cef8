import { randomBytes } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { type AuthwireClient, createAuthwireClient } from "@authwire/client"
import { blocksOf, codeBelow, runBlock } from "@authwire/test-support/applications/pages.js"
import {
  createDatabase,
  type DatabaseTarget,
  databaseTargets,
  type TestDatabase,
} from "@authwire/test-support/databases/databases.js"
import { mysqlPrograms, postgresPrograms } from "@authwire/test-support/databases/servers.js"
import { findProgram } from "@authwire/test-support/machine/tools.js"
import { type ServerProcess, startServer, testSecret } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { libpqVariables, writeClientOptions } from "./options.js"
import { expectSignedIn, type Person, signUp } from "./person.js"

const page = "docs/backup.md"
const headings = { mysql: "MySQL", mariadb: "MariaDB", postgres: "PostgreSQL", sqlite: "SQLite" } as const
const [oldKey, newKey] = [randomBytes(32).toString("base64"), randomBytes(32).toString("base64")] as const

test("every command of docs/backup.md is executed here or in files.test.ts", () => {
  const each = ["MySQL", "MariaDB", "Copying the files of the whole server", "PostgreSQL", "SQLite", "After restoring"]
  expect(blocksOf(page).map(({ heading }) => heading)).toEqual([
    ...each.flatMap((heading) => [heading, heading]),
    "After restoring",
    "The encryption keys",
    "The encryption keys",
  ])
})

type Maker = "MySQL" | "MariaDB" | "PostgreSQL" | "SQLite"

const sqlite = findProgram("sqlite3")
/** The folder of the programs of each maker. Undefined if they are not installed. */
const programs: Record<Maker, string | undefined> = {
  MySQL: mysqlPrograms(),
  MariaDB: mysqlPrograms("mariadb"),
  PostgreSQL: postgresPrograms(),
  SQLite: sqlite && dirname(sqlite),
}
/** Whose programs serve each database. */
const makers: Record<DatabaseTarget, readonly Maker[]> = {
  mysql: ["MySQL", "MariaDB"],
  mariadb: ["MariaDB"],
  postgres: ["PostgreSQL"],
  sqlite: ["SQLite"],
}
/** The command of each database to which the page's statements for `mysql` are passed. */
const clients: Record<DatabaseTarget, string> = {
  mysql: "mysql authwire --execute",
  mariadb: "mariadb authwire --execute",
  postgres: "psql authwire --command",
  sqlite: "sqlite3 -cmd '.timeout 5000' .authwire/authwire.db",
}
const copies = { mysql: "authwire.sql", mariadb: "authwire.sql", postgres: "authwire.dump", sqlite: "authwire-copy.db" }

const all = databaseTargets().flatMap((target) => makers[target].map((maker) => [target, maker] as const))
const possible = all.filter(([, maker]) => programs[maker])
const describeEach = possible.length > 0 ? describe.each(possible) : describe.skip.each(all)

describeEach("the commands of docs/backup.md for %s, with the programs of %s", (target, maker) => {
  let folder: string
  let database: TestDatabase
  let server: ServerProcess
  let client: AuthwireClient
  let before: Person
  const [backUp = "", restore = ""] = codeBelow(page, headings[target])
  const [check = "", count = "", signOutAll = ""] = codeBelow(page, "After restoring")
  const [giveUp = "", rekey = ""] = codeBelow(page, "The encryption keys")

  const serve = async (AUTHWIRE_ENCRYPTION_KEYS: string) => {
    const env = { AUTHWIRE_ENCRYPTION_KEYS }
    server = await startServer({ databaseUrl: database.url, args: ["--log-level=warn"], env })
    client = createAuthwireClient({ url: server.grpcUrl })
  }
  const stop = async () => {
    client.close()
    await server.stop()
  }
  /** The file of a SQLite database, or the name of the database on a server. */
  const place = () =>
    target === "sqlite" ? database.url.slice("sqlite:".length) : new URL(database.url).pathname.slice(1)
  /** Runs a block on the database of this test instead of the page's. */
  const run = (block: string, env: Record<string, string> = {}, by = maker) => {
    const pattern = target === "sqlite" ? /\.authwire\/authwire\.db/g : /(?<!^)\bauthwire\b(?!\.)/gm
    const given = {
      AUTH_SECRET: testSecret,
      AUTHWIRE_DATABASE_URL: database.url,
      ...libpqVariables(target, database.url),
    }
    return runBlock(block.replaceAll(pattern, place()), folder, { ...given, ...env }, programs[by])
  }
  /** Runs a block that passes statements to the client of MySQL, with the client of this database. */
  const runStatements = (block: string) => run(block.replace("mysql authwire --execute", clients[target]))
  /** What doctor prints about the database, and its exit code. */
  const doctor = () =>
    run("authwire doctor", { AUTHWIRE_ENCRYPTION_KEYS: oldKey }).then(
      (stdout) => ({ code: 0, stdout }),
      ({ code, stdout }: { code: number; stdout: string }) => ({ code, stdout }),
    )

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "authwire-backup-"))
    database = await createDatabase(target)
    if (target === "mysql" || target === "mariadb") writeClientOptions(folder, database.url)
    await serve(oldKey)
  })
  afterAll(async () => {
    await stop()
    await database.drop()
    rmSync(folder, { recursive: true, force: true })
  })

  test("a backup while the service writes; all data is lost and restored, and sign-in continues", async () => {
    before = await signUp(client.adapter, "before")
    let signedUp = 0
    let isDone = false
    const signingUp = (async () => {
      for (; !isDone; signedUp++) await signUp(client.adapter, `during-${signedUp}`)
    })()
    try {
      await until(() => signedUp > 3)
      await run(backUp)
    } finally {
      isDone = true
      await signingUp
    }
    const after = await signUp(client.adapter, "after")
    await stop()

    if (target === "sqlite") rmSync(place())
    for (const restoredBy of makers[target].filter((one) => programs[one])) {
      await run(restore, {}, restoredBy)
      expect(await run(check, { AUTHWIRE_ENCRYPTION_KEYS: oldKey })).toMatch(/^nothing is pending$/m)
      const counted = await runStatements(count)
      await serve(oldKey)
      const { adapter } = client
      await expectSignedIn(adapter, before)
      expect(await adapter.getSessionAndUser(after.sessionToken)).toBeNull()
      expect(await adapter.getUserByEmail(after.email)).toBeNull()
      // The backup is consistent: if an earlier write is missing, all later writes are missing too.
      const found = []
      let users = 1
      for (let index = 0; index < signedUp; index++) {
        const user = await adapter.getUserByEmail(`during-${index}@example.com`)
        if (user !== null) users++
        found.push(
          user !== null,
          (await adapter.getAccount(`during-${index}`, "p")) !== null,
          (await adapter.getAuthenticator(Buffer.from(`during-${index}`).toString("base64"))) !== null,
        )
      }
      expect(found.slice(0, 9)).not.toContain(false)
      expect(found).toEqual([...found].sort((a, b) => Number(b) - Number(a)))
      expect(counted).toMatch(new RegExp(`^ *${users}$`, "m"))
      await expectSignedIn(adapter, await signUp(adapter, "next"))
      await stop()
    }
    await serve(oldKey)
  }, 180_000)

  test("a part of a copy is not restored; doctor finds the database to which somebody restored it all the same", async () => {
    const copy = join(folder, copies[target])
    const whole = readFileSync(copy)
    // To the end of a line, so that a client that executes the lines notices nothing. PostgreSQL's copy begins with a list of what
    // is in it, without which nothing is done.
    const part = target === "postgres" ? 0.95 : 0.5
    writeFileSync(copy, whole.subarray(0, whole.lastIndexOf("\n", whole.length * part) + 1))
    await stop()
    await expect(run(restore)).rejects.toMatchObject({ code: 1 })
    await serve(oldKey)
    await expectSignedIn(client.adapter, before)
    await stop()
    const [, ...unchecked] = restore.split(" &&\n")
    await run(unchecked.join(" &&\n")).catch(() => {})
    expect(await doctor()).toEqual({
      code: 1,
      stdout: expect.stringMatching(
        target === "sqlite" ? /^wrong +database .*the file is damaged/m : /^wrong +tables .*a backup was not restored/m,
      ),
    })
    writeFileSync(copy, whole)
    await run(restore)
    expect(await doctor()).toMatchObject({ code: 0, stdout: expect.not.stringMatching(/^wrong/m) })
    await serve(oldKey)
    await expectSignedIn(client.adapter, before)
  }, 180_000)

  if (target === "postgres")
    test("the restored database has the owner, the settings and the grants that it had", async () => {
      await run(`psql authwire --command 'ALTER DATABASE authwire OWNER TO pg_monitor' \\
        --command 'GRANT CONNECT ON DATABASE authwire TO pg_signal_backend' \\
        --command 'ALTER DATABASE authwire SET statement_timeout = 7000'`)
      const describeDatabase = () =>
        run(`psql authwire --command "SELECT datdba::regrole, datacl, setconfig FROM pg_database d
          LEFT JOIN pg_db_role_setting ON setdatabase = d.oid WHERE datname = 'authwire'"`)
      const had = await describeDatabase()
      expect(had).toMatch(/pg_monitor.*pg_signal_backend.*statement_timeout=7000/)
      await stop()
      await run(backUp)
      await run(restore)
      expect(await describeDatabase()).toBe(had)
      await serve(oldKey)
    }, 180_000)

  test("rekey leaves no data encrypted with the old key", async () => {
    await stop()
    const accounts = Number((await database.query("SELECT COUNT(*) AS n FROM accounts"))[0]?.n)
    expect(await run(rekey, { NEW_KEY: newKey, OLD_KEY: oldKey })).toBe(
      `rekeyed ${accounts} of ${accounts} rows\nrekeyed 0 of ${accounts} rows\n`,
    )
    await serve(newKey)
    await expectSignedIn(client.adapter, before)
  }, 180_000)

  test("without its key no user is signed out, doctor reports it, and tokens can be stored again", async () => {
    await stop()
    await expect(run("authwire doctor", { AUTHWIRE_ENCRYPTION_KEYS: oldKey })).rejects.toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^wrong +encryption keys +they do not decrypt rows of default/m),
    })
    await serve(oldKey)
    const { adapter } = client
    const { provider, providerAccountId } = before.account
    expect(await adapter.getSessionAndUser(before.sessionToken)).toMatchObject({ user: { id: before.id } })
    expect(await adapter.getUserByAccount({ provider, providerAccountId })).toMatchObject({ id: before.id })
    const missing = { reason: "ENCRYPTION_KEY_MISSING" }
    await expect(adapter.getAccount(providerAccountId, provider)).rejects.toMatchObject(missing)
    await expect(adapter.linkAccount(before.account)).rejects.toMatchObject(missing)
    await expect(adapter.unlinkAccount({ provider, providerAccountId })).rejects.toMatchObject(missing)
    await runStatements(giveUp)
    await adapter.linkAccount(before.account)
    await expectSignedIn(adapter, before)
  }, 180_000)

  test("emptying the tables of sessions and verification tokens signs all users out, and loses no user", async () => {
    await runStatements(signOutAll)
    expect(await client.adapter.getSessionAndUser(before.sessionToken)).toBeNull()
    expect(await client.adapter.getUserByEmail(before.email)).toMatchObject({ id: before.id })
  })
})
