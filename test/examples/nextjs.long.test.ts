import { createAuthwireClient } from "@authwire/client"
import { addVirtualAuthenticator, hasChromium, launchChromium } from "@authwire/test-support/applications/chromium.js"
import { buildNextExample, type NextMode, nextExample } from "@authwire/test-support/applications/next-example.js"
import { hasNextExample } from "@authwire/test-support/applications/nextjs.js"
import {
  keepScreenshot,
  screenshotContext,
  writesScreenshots,
} from "@authwire/test-support/applications/screenshots.js"
import { moment, person, rows, sessionCookie } from "@authwire/test-support/applications/sign-in.js"
import { startStack } from "@authwire/test-support/applications/stack.js"
import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { run } from "@authwire/test-support/processes/server.js"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals"
import { describeOutages } from "./nextjs-outages.js"
import { describePasskeys } from "./nextjs-passkeys.js"
import { describeSignals } from "./nextjs-signals.js"
import { NextVisitor } from "./nextjs-visitor.js"

const target = serviceDatabase()
const canRun = hasChromium() && hasNextExample() && target !== undefined

// One build and one browser for all tests. Each test has its own context with separate cookies.
;(canRun ? describe : describe.skip)("examples/nextjs in Chromium", () => {
  const visit = new NextVisitor()
  const {
    shownIn,
    at,
    ask,
    cookie,
    hash,
    sessions,
    usersWith,
    signInWithProvider,
    signInByMail,
    signOut,
    expectSignedOut,
    expectSignedIn,
  } = visit
  let crashes: Error[]

  beforeAll(async () => {
    await buildNextExample()
    visit.browser = await launchChromium()
  }, 300_000)
  afterAll(() => visit.browser?.close())
  beforeEach(async () => {
    visit.context = await visit.browser.newContext()
    crashes = []
    visit.context.on("weberror", (event) => crashes.push(event.error()))
    visit.page = await visit.context.newPage()
  })
  afterEach(async () => {
    await visit.context.close()
    expect(crashes).toEqual([])
  })

  describe.each<["database" | "jwt", NextMode]>([
    ["database", "standalone"],
    ["jwt", "start"],
  ])("%s sessions, next %s", (strategy, mode) => {
    beforeAll(async () => {
      visit.stack = await startStack(target ?? "sqlite", { SESSION_STRATEGY: strategy }, nextExample(mode))
    }, 120_000)
    afterAll(() => visit.stack?.remove())

    async function expectSessionOf(userId: unknown) {
      if (strategy === "database") expect(await sessions(await cookie())).toMatchObject([{ user_id: userId }])
      else expect(await rows(visit.stack.database, "sessions")).toEqual([])
    }

    test("signing in with the provider", async () => {
      await signInWithProvider("Ada")
      const shown = await Promise.all(["#name", "#email", "#role"].map((id) => visit.page.textContent(id)))
      expect(shown).toEqual(["Ada Lovelace", "ada@demo.example", "analyst"])
      const [user, ...others] = await usersWith("ada@demo.example")
      expect(others).toEqual([])
      const accounts = await rows(visit.stack.database, "accounts", "user_id = ?", [user?.id])
      expect(accounts).toMatchObject([{ provider: "demo", provider_account_id: person("Ada").sub, type: "oidc" }])
      await expectSessionOf(user?.id)
    })

    test("signing in with a link by e-mail", async () => {
      const started = Date.now()
      await signInByMail("first@example.com")
      expect(await visit.page.textContent("#email")).toBe("first@example.com")
      const [user] = await usersWith("first@example.com")
      expect(moment(user?.email_verified).getTime()).toBeGreaterThanOrEqual(started)
      expect(await rows(visit.stack.database, "verification_tokens")).toEqual([])
      await expectSessionOf(user?.id)
    })

    test("changing the name", async () => {
      await signInByMail("name@example.com")
      await visit.page.fill("input[name=name]", "Mary Shelley")
      await visit.page.click("#rename")
      await visit.page.waitForSelector('#name:has-text("Mary Shelley")')
      expect(await usersWith("name@example.com")).toMatchObject([{ name: "Mary Shelley" }])
      await expectSignedIn("Mary Shelley")
    })

    test("an update of the session with anything but a name changes nothing", async () => {
      await signInByMail("update@example.com")
      for (const data of [undefined, null, "", [], {}, { user: null }, { user: {} }, { user: { name: { x: 1 } } }]) {
        const answer = await visit.page.evaluate(async (data) => {
          const { csrfToken } = await (await fetch("/api/auth/csrf")).json()
          const headers = { "content-type": "application/json" }
          const body = JSON.stringify({ csrfToken, data })
          return (await fetch("/api/auth/session", { method: "POST", headers, body })).json()
        }, data)
        expect([data, answer?.user]).toMatchObject([data, { email: "update@example.com" }])
        expect([data, answer.user.name ?? null]).toEqual([data, null])
      }
      expect(await cookie()).toBeDefined()
    })

    test("signing out, in two tabs", async () => {
      await signInByMail("tabs@example.com")
      const token = await cookie()
      const other = await visit.context.newPage()
      await other.goto(at("/account"))
      expect(await other.textContent("#email")).toBe("tabs@example.com")
      await signOut()
      expect(await cookie()).toBeUndefined()
      await expectSignedOut(other)
      if (strategy === "jwt") return
      expect(await sessions(token)).toEqual([])
      expect((await ask("/api/me", { cookie: `${sessionCookie}=${token}` })).status).toBe(401)
    })

    test("a user who is disabled is out at the next request, and cannot sign in", async () => {
      await signInWithProvider("Ada")
      const [user] = await usersWith("ada@demo.example")
      const id = String(user?.id)
      const authwire = createAuthwireClient({ url: visit.stack.server.grpcUrl, apiKey: visit.stack.server.apiKey })
      try {
        await authwire.users.disableUser({ id, reason: "spam" })
        // A JWT is decrypted in the application, which does not look the user up.
        if (strategy === "jwt") await signOut()
        else await expectSignedOut()
        await visit.page.click("#sign-in-demo")
        await visit.page.click(`button[value="${person("Ada").sub}"]`)
        await visit.page.waitForURL(at("/sign-in-error?error=AccessDenied"))
        expect(await visit.page.textContent("#problem")).toBe("You are not allowed to sign in here.")
        await expectSignedOut()
        await authwire.users.enableUser({ id })
        await signInWithProvider("Ada")
      } finally {
        authwire.close()
      }
    })

    if (strategy === "database") {
      test("the absolute lifetime of the session policy ends a session that is in use", async () => {
        const policy = (maxAge: string) =>
          run(["policy", "set", `--max-age=${maxAge}`, `--url=${visit.stack.server.grpcUrl}`])
        await signInWithProvider("Grace")
        expect(await policy("60s")).toMatchObject({ code: 0 })
        try {
          await expectSignedIn("Grace Hopper")
          // As if it had been in use for a minute.
          const created = new Date(Date.now() - 60_001).toISOString().slice(0, 23).replace("T", " ")
          await visit.stack.database.query("UPDATE sessions SET created = ? WHERE token_hash = ?", [
            created,
            hash(await cookie()),
          ])
          await expectSignedOut()
          expect(await cookie()).toBeUndefined()
        } finally {
          await policy("0")
        }
      })
    }

    if (strategy === "database" && writesScreenshots)
      test("the pictures of the docs", async () => {
        await visit.context.close()
        visit.context = await visit.browser.newContext(screenshotContext)
        visit.page = await visit.context.newPage()
        await addVirtualAuthenticator(visit.page)
        await visit.page.goto(at("/"))
        await keepScreenshot(visit.page, "nextjs-sign-in")
        await signInWithProvider("Ada")
        await visit.page.click("#passkey-register")
        await shownIn(visit.page).locator("input[name=name]").fill("Ada’s laptop")
        await shownIn(visit.page).getByText("Name it").click()
        await shownIn(visit.page).locator("strong", { hasText: "Ada’s laptop" }).waitFor()
        await keepScreenshot(visit.page, "nextjs-account")
      })

    describePasskeys(visit, expectSessionOf)
    describeOutages(visit)
  })

  describeSignals(visit, target ?? "sqlite")

  test("next dev", async () => {
    visit.stack = await startStack("sqlite", {}, nextExample("dev"))
    // The development server compiles a page when it is requested, which takes long.
    visit.page.setDefaultTimeout(150_000)
    try {
      await signInWithProvider("Grace")
      expect(await visit.page.textContent("#name")).toBe("Grace Hopper")
    } finally {
      await visit.stack.remove()
    }
  }, 180_000)
})
