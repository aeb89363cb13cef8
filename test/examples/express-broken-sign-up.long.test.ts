import { createBrowser, textOf } from "@authwire/test-support/applications/browser.js"
import { startExample } from "@authwire/test-support/applications/example.js"
import { person, rows, signInWithProvider, usersWithEmail } from "@authwire/test-support/applications/sign-in.js"
import { createDatabase, describeServer, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { activeStatements } from "@authwire/test-support/databases/server-sql.js"
import { startServer } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { expect, test } from "@jest/globals"

const ada = person("Ada")

/** Opens a transaction that links Ada's account to another user, so that concurrent links of the account must wait. */
async function holdAccount(database: TestDatabase): Promise<{ release(): Promise<void> }> {
  await database.query("INSERT INTO users (tenant, id, extra) VALUES ('default', 'other', '{}')")
  // It must see the user that the application creates.
  if (database.target !== "postgres") await database.query("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
  await database.query("BEGIN")
  await database.query(
    `INSERT INTO accounts (tenant, provider, provider_account_id, user_id, type, extra)
      VALUES ('default', 'demo', ?, 'other', 'oidc', '{}')`,
    [ada.sub],
  )
  return { release: async () => void (await database.query("ROLLBACK")) }
}

/** Whether a statement that links an account is running. */
async function isLinking(database: TestDatabase): Promise<boolean> {
  return (await activeStatements(database)).some((text) => /^INSERT INTO .accounts/i.test(text))
}

describeServer("an application that is killed between createUser and linkAccount", (target) => {
  test.each([
    ["15m", "the next sign-in comes to its end", true],
    ["0", "the next sign-in is rejected by Auth.js", false],
  ])("--provisional-sign-up=%s: %s", async (provisional, _, succeeds) => {
    const database = await createDatabase(target)
    const server = await startServer({ databaseUrl: database.url, args: [`--provisional-sign-up=${provisional}`] })
    const killed = await startExample(server.grpcUrl)
    const held = await holdAccount(database)
    const broken = signInWithProvider(createBrowser(), killed, "Ada").catch(() => "broken")
    await until(() => isLinking(database))
    expect(await usersWithEmail(database, ada.email)).toHaveLength(1)
    await killed.stop("SIGKILL")
    expect(await broken).toBe("broken")
    // The call of the killed application is no longer executed.
    await until(() => /"method":"[^"]*LinkAccount"/.test(server.log()))
    await until(async () => !(await isLinking(database)))
    await held.release()
    expect(await rows(database, "accounts")).toEqual([])
    const [first] = await usersWithEmail(database, ada.email)

    const example = await startExample(server.grpcUrl)
    const page = await signInWithProvider(createBrowser(), example, "Ada")
    const users = await usersWithEmail(database, ada.email)
    expect(users).toHaveLength(1)
    if (succeeds) {
      expect(textOf(page, "email")).toBe(ada.email)
      expect(users[0]?.id).not.toBe(first?.id)
      expect(await rows(database, "accounts")).toMatchObject([{ user_id: users[0]?.id }])
      expect(await rows(database, "sessions")).toMatchObject([{ user_id: users[0]?.id }])
    } else {
      expect(page.url.searchParams.get("error")).toBe("OAuthAccountNotLinked")
      expect(users[0]?.id).toBe(first?.id)
      expect(await rows(database, "sessions")).toEqual([])
    }
    await example.stop()
    await server.stop()
    await database.drop()
  })
})
