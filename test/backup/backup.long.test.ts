import { randomBytes } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type AuthwireClient, createAuthwireClient } from "@authwire/client"
import { blocksOf, codeBelow, runBlock } from "@authwire/test-support/applications/pages.js"
import {
  createDatabase,
  type DatabaseTarget,
  databaseTargets,
  type TestDatabase,
} from "@authwire/test-support/databases/databases.js"
import { mysqlPrograms, postgresPrograms } from "@authwire/test-support/databases/servers.js"
import { hasTool } from "@authwire/test-support/machine/tools.js"
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
    "The encryption keys",
    "The encryption keys",
  ])
})

/** The folders of programs that are not found on the PATH. */
const programs: Partial<Record<DatabaseTarget, string | undefined>> = {
  mysql: mysqlPrograms(),
  postgres: postgresPrograms(),
}
const canRun = (by: DatabaseTarget) => {
  if (by === "postgres") return true
  return by === "mysql" ? programs.mysql !== undefined : hasTool(by === "sqlite" ? "sqlite3" : "mariadb-dump")
}
/** Each database with those whose commands serve it. MariaDB's serve MySQL, too. */
const all = databaseTargets().flatMap((target) =>
  [target, ...(target === "mysql" ? ["mariadb" as const] : [])].map((by) => [target, by] as const),
)
const possible = all.filter(([, by]) => canRun(by))
const describeEach = possible.length > 0 ? describe.each(possible) : describe.skip.each(all)

describeEach("the commands of docs/backup.md on %s, those for %s", (target, by) => {
  let folder: string
  let database: TestDatabase
  let server: ServerProcess
  let client: AuthwireClient
  let before: Person
  const [backUp = "", restore = ""] = codeBelow(page, headings[by])
  const [check = "", signOutAll = ""] = codeBelow(page, "After restoring")
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
  const run = (block: string, env: Record<string, string> = {}) => {
    const pattern = target === "sqlite" ? /\.authwire\/authwire\.db/g : /(?<!^)\bauthwire\b(?!\.)/gm
    const given = {
      AUTH_SECRET: testSecret,
      AUTHWIRE_DATABASE_URL: database.url,
      ...libpqVariables(target, database.url),
    }
    return runBlock(block.replaceAll(pattern, place()), folder, { ...given, ...env }, programs[by])
  }
  /** Executes the statements that a block passes to the program of MySQL. */
  const runStatements = async (block: string) => {
    if (by === "mysql") return run(block)
    const [, statements = ""] = /(?<=')(.*)(?=')|(?<=")(.*)(?=")/.exec(block)?.filter(Boolean) ?? []
    for (const statement of statements.split(";")) await database.query(statement)
  }

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
    await run(restore)
    expect(await run(check, { AUTHWIRE_ENCRYPTION_KEYS: oldKey })).toMatch(/^nothing is pending$/m)
    await serve(oldKey)
    const { adapter } = client
    await expectSignedIn(adapter, before)
    expect(await adapter.getSessionAndUser(after.sessionToken)).toBeNull()
    expect(await adapter.getUserByEmail(after.email)).toBeNull()
    // The backup is consistent: if an earlier write is missing, all later writes are missing too.
    const found = []
    for (let index = 0; index < signedUp; index++) {
      found.push(
        (await adapter.getUserByEmail(`during-${index}@example.com`)) !== null,
        (await adapter.getAccount(`during-${index}`, "p")) !== null,
        (await adapter.getAuthenticator(Buffer.from(`during-${index}`).toString("base64"))) !== null,
      )
    }
    expect(found.slice(0, 9)).not.toContain(false)
    expect(found).toEqual([...found].sort((a, b) => Number(b) - Number(a)))
    await expectSignedIn(adapter, await signUp(adapter, "next"))
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

  if (target !== "sqlite")
    test("emptying the tables of sessions and verification tokens signs all users out, and loses no user", async () => {
      await runStatements(signOutAll)
      expect(await client.adapter.getSessionAndUser(before.sessionToken)).toBeNull()
      expect(await client.adapter.getUserByEmail(before.email)).toMatchObject({ id: before.id })
    })
})
