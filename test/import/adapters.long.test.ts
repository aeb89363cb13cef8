import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type AuthwireClient, createAuthwireClient } from "@authwire/client"
import { createDatabase, databaseTargets, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { migrate } from "@authwire/test-support/databases/migrate.js"
import { run, type ServerProcess, startServer, testSecret } from "@authwire/test-support/processes/server.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { type AdapterName, adapters, hasAdapters, type Written, writeBy } from "./fixtures.js"

/** Converts Dates to text, as in the JSON output of the fixtures. */
const plain = (value: unknown) => JSON.parse(JSON.stringify(value))

const describeAdapters = hasAdapters() ? describe : describe.skip

describeAdapters.each(databaseTargets())("the rows that an adapter wrote into %s", (kind) => {
  /** Creates an empty database for an adapter, or an empty folder for the files of MongoDB. */
  async function createSource(adapter: AdapterName): Promise<Pick<TestDatabase, "url" | "drop">> {
    if (adapter === "jsonl") {
      const url = mkdtempSync(join(tmpdir(), "authwire-collections-"))
      return { url, drop: async () => rmSync(url, { recursive: true }) }
    }
    const database = await createDatabase(kind)
    // The adapters leave the character set to the database, and the default of MariaDB would be latin1.
    if (kind === "mysql" || kind === "mariadb") await database.query("ALTER DATABASE CHARACTER SET utf8mb4")
    return database
  }

  const ofThis = adapters.filter(
    (name) => (kind !== "sqlite" || name !== "sequelize") && (kind === "postgres" || name !== "pg"),
  )

  describe.each(ofThis)("by %s, after authwire import", (adapterName) => {
    let source: Pick<TestDatabase, "url" | "drop">
    let database: TestDatabase
    let written: Written
    let server: ServerProcess
    let client: AuthwireClient
    const authwire = (...args: string[]) =>
      run(["import", `--from=${adapterName}`, ...args], {
        AUTHWIRE_DATABASE_URL: database.url,
        AUTHWIRE_SOURCE_URL: source.url,
        AUTH_SECRET: testSecret,
      })

    beforeAll(async () => {
      source = await createSource(adapterName)
      database = await createDatabase(kind)
      written = await writeBy(adapterName, source.url)
      await migrate(database)
    })
    afterAll(async () => {
      client?.close()
      await server?.stop()
      await database?.drop()
      await source?.drop()
    })

    test("a dry run finds no problem, and writes nothing", async () => {
      const { code, stdout, stderr } = await authwire()
      expect(stderr).toBe("dry run: nothing was written; use --apply to write\n")
      expect(stdout).toMatch(/^users +12 +12$/m)
      expect(code).toBe(0)
      expect(await database.query("SELECT COUNT(*) AS n FROM users")).toEqual([{ n: 0 }])
    })

    test("--apply writes every row, and a second run writes none", async () => {
      const first = await authwire("--apply")
      expect(first.stderr).toBe("every row was compared: source and target are equal\n")
      expect(first.stdout).toMatch(/^users +12 +0 +0$/m)
      expect(first.code).toBe(0)
      const second = await authwire("--apply", "--delete")
      expect(second.stdout).toMatch(/^users +0 +0 +0$/m)
      expect(second.stdout).toMatch(/^accounts +0 +0 +0$/m)
      expect(second.code).toBe(0)
      server = await startServer({ databaseUrl: database.url })
      client = createAuthwireClient({ url: server.grpcUrl })
    })

    test("AuthwireAdapter returns the same users and accounts as the adapter", async () => {
      for (const user of written.users) expect(plain(await client.adapter.getUser(user.id))).toEqual(user)
      for (const { email, user } of written.byEmail) {
        expect(plain(await client.adapter.getUserByEmail(email))).toEqual(user)
      }
      for (const { key, user } of written.byAccount) {
        expect(plain(await client.adapter.getUserByAccount(key))).toEqual(user)
      }
      for (const { key, account } of written.accounts) {
        expect(plain(await client.adapter.getAccount(key.providerAccountId, key.provider))).toEqual(account)
      }
    })

    test("signed-in users stay signed in, with the same token", async () => {
      // Kysely's adapter omits only the session's own id, which is in its table. With pg it is a number.
      const id = { kysely: expect.any(String), pg: expect.any(Number) }[String(adapterName)]
      const more = id === undefined ? {} : { id }
      for (const { sessionToken, sessionAndUser } of written.sessions) {
        const { session, user } = sessionAndUser
        expect(plain(await client.adapter.getSessionAndUser(sessionToken))).toEqual({
          session: { ...session, ...more },
          user,
        })
      }
    })

    test("e-mail links still work once, and so do passkeys", async () => {
      for (const token of written.tokens) {
        const key = { identifier: token.identifier, token: token.token }
        expect(plain(await client.adapter.useVerificationToken(key))).toEqual(token)
        expect(await client.adapter.useVerificationToken(key)).toBeNull()
      }
      for (const { userId, all } of written.authenticators) {
        expect(plain(await client.adapter.listAuthenticatorsByUserId(userId))).toEqual(all)
      }
    })
  })
})
