import { createHash } from "node:crypto"
import {
  type Browser,
  type BrowserContext,
  hasChromium,
  launchChromium,
} from "@authwire/test-support/applications/chromium.js"
import { person, rows, sessionCookie } from "@authwire/test-support/applications/sign-in.js"
import { createDatabase, serviceDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { run, type ServerProcess, startServer, testSecret } from "@authwire/test-support/processes/server.js"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals"
import { type Started, startApplication, startProvider } from "./application.js"
import { adapters, folder, hasAdapters } from "./fixtures.js"

const target = serviceDatabase()
const secrets = { OIDC_CLIENT_SECRET: "of-the-tests-and-of-nobody-else", AUTH_SECRET: testSecret }
const canRun = hasChromium() && hasAdapters()

;(canRun ? describe : describe.skip)(`users who signed in with an adapter on ${target}, in Chromium`, () => {
  let browser: Browser
  let provider: Started
  beforeAll(async () => {
    browser = await launchChromium()
    provider = await startProvider(secrets.OIDC_CLIENT_SECRET)
  })
  afterAll(async () => {
    await browser?.close()
    await provider?.stop()
  })

  let source: TestDatabase
  let database: TestDatabase
  let server: ServerProcess
  let application: Started | undefined
  let context: BrowserContext
  beforeEach(async () => {
    source = await createDatabase(target)
    if (target !== "sqlite") await source.query("ALTER DATABASE CHARACTER SET utf8mb4")
    database = await createDatabase(target)
    server = await startServer({ databaseUrl: database.url })
    context = await browser.newContext()
  })
  afterEach(async () => {
    await context.close()
    await application?.stop()
    await server.stop()
    await source.drop()
    await database.drop()
  })

  /**
   * Starts the application with an adapter, replacing the previous one at the same address and with the same secret.
   */
  async function start(...adapter: string[]) {
    const port = application?.address ?? "0"
    await application?.stop()
    application = await startApplication([port, provider.address, ...adapter], secrets)
  }

  const at = (path: string) => `http://127.0.0.1:${application?.address}${path}`
  const sessionToken = async () => (await context.cookies()).find(({ name }) => name === sessionCookie)?.value

  async function signIn(inContext: BrowserContext) {
    const page = await inContext.newPage()
    await page.goto(at("/auth/signin"))
    await page.click("form[action$='/signin/demo'] button")
    await page.click(`button[value="${person("Ada").sub}"]`)
    await page.waitForURL(at("/"))
    await page.close()
  }

  /** Returns the user that the application shows to a browser with these cookies. */
  async function whoIs(inContext: BrowserContext): Promise<unknown> {
    const page = await inContext.newPage()
    await page.goto(at("/"))
    const text = await page.textContent("script[type='application/json']")
    await page.close()
    return JSON.parse(String(text))
  }

  test.each(adapters)(
    "%s: the same browser with the same cookie is signed in after the import",
    async (adapter) => {
      const engine = target === "sqlite" ? "sqlite" : "mysql"
      await start(adapter, engine, source.url)
      await signIn(context)
      const signedIn = await whoIs(context)
      expect(signedIn).toMatchObject({ name: "Ada Lovelace", email: "ada@demo.example" })
      const token = await sessionToken()

      // Before the import the cookie is unknown. A copy is used, because Auth.js removes an unknown cookie.
      await start("authwire", server.grpcUrl)
      const copy = await browser.newContext({ storageState: await context.storageState() })
      expect(await whoIs(copy)).toBeNull()
      await copy.close()

      const { code, stderr } = await run(
        ["import", `--from=${adapter}`, "--apply"],
        { AUTHWIRE_DATABASE_URL: database.url, AUTHWIRE_SOURCE_URL: source.url, AUTH_SECRET: testSecret },
        folder,
      )
      expect(stderr).toBe("every row was compared: source and target are equal\n")
      expect(code).toBe(0)

      expect(await whoIs(context)).toEqual(signedIn)
      expect(await sessionToken()).toBe(token)
      const hash = createHash("sha256").update(String(token)).digest()
      const [session, ...others] = await rows(database, "sessions")
      expect([Buffer.from(session?.token_hash as Uint8Array), others]).toEqual([hash, []])

      // Signing in again finds the same user.
      const again = await browser.newContext()
      await signIn(again)
      expect(await whoIs(again)).toEqual(signedIn)
      await again.close()
      expect(await rows(database, "users")).toHaveLength(1)
      expect(await rows(database, "accounts")).toHaveLength(1)
      expect(await rows(database, "sessions")).toHaveLength(2)
    },
    120_000,
  )
})
