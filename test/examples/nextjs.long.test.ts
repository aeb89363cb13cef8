import { createHash } from "node:crypto"
import { createAuthwireClient } from "@authwire/client"
import {
  addVirtualAuthenticator,
  type Browser,
  type BrowserContext,
  hasChromium,
  launchChromium,
  type Page,
} from "@authwire/test-support/applications/chromium.js"
import { buildNextExample, type NextMode, nextExample } from "@authwire/test-support/applications/next-example.js"
import { hasNextExample } from "@authwire/test-support/applications/nextjs.js"
import {
  keepScreenshot,
  screenshotContext,
  writesScreenshots,
} from "@authwire/test-support/applications/screenshots.js"
import { moment, type PersonName, person, rows, sessionCookie } from "@authwire/test-support/applications/sign-in.js"
import { type Stack, startStack } from "@authwire/test-support/applications/stack.js"
import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { run } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals"

const target = serviceDatabase()
const canRun = hasChromium() && hasNextExample() && target !== undefined

// One build and one browser for all tests. Each test has its own context with separate cookies.
;(canRun ? describe : describe.skip)("examples/nextjs in Chromium", () => {
  let browser: Browser
  let stack: Stack
  let context: BrowserContext
  let page: Page
  let crashes: Error[]

  beforeAll(async () => {
    await buildNextExample()
    browser = await launchChromium()
  }, 300_000)
  afterAll(() => browser?.close())
  beforeEach(async () => {
    context = await browser.newContext()
    crashes = []
    context.on("weberror", (event) => crashes.push(event.error()))
    page = await context.newPage()
  })
  afterEach(async () => {
    await context.close()
    expect(crashes).toEqual([])
  })

  const shownIn = (one: Page) => one.locator("#passkeys li")
  const at = (path: string) => `${stack.example.appUrl}${path}`
  const cookie = async () => (await context.cookies()).find(({ name }) => name === sessionCookie)?.value
  const ask = async (path: string, headers: Record<string, string> = {}) => fetch(at(path), { headers })
  const asWhoHas = async (path: string) => ask(path, { cookie: `${sessionCookie}=${await cookie()}` })
  const hash = (sessionToken: string | undefined) => createHash("sha256").update(String(sessionToken)).digest()
  const sessions = (sessionToken: string | undefined) =>
    rows(stack.database, "sessions", "token_hash = ?", [hash(sessionToken)])
  const usersWith = (email: string) => rows(stack.database, "users", "email = ?", [email])

  async function signInWithProvider(name: PersonName) {
    await page.goto(at("/"))
    await page.click("#sign-in-demo")
    await page.click(`button[value="${person(name).sub}"]`)
    await page.waitForURL(at("/account"))
  }

  async function signInByMail(email: string) {
    await page.goto(at("/"))
    await page.fill("input[name=email]", email)
    await page.click("#send-link")
    await page.waitForSelector("#check-mail")
    let link: string | undefined
    await until(async () => {
      const mails = (await stack.example.mails()).filter(({ to }) => to.includes(email))
      link = /https?:\S+/.exec(mails[0]?.text ?? "")?.[0]
      return link !== undefined
    })
    await page.goto(String(link))
    await page.waitForURL(at("/account"))
  }

  async function signOut(of = page) {
    await of.click("#sign-out")
    await of.waitForSelector("#sign-in-demo")
  }

  async function expectSignedOut(of = page) {
    await of.goto(at("/account"))
    expect(of.url()).toBe(at("/"))
    await of.waitForSelector("#sign-in-demo")
  }

  async function expectSignedIn(name: string) {
    await page.goto(at("/account"))
    expect(await page.textContent("#name")).toBe(name)
  }

  describe.each<["database" | "jwt", NextMode]>([
    ["database", "standalone"],
    ["jwt", "start"],
  ])("%s sessions, next %s", (strategy, mode) => {
    beforeAll(async () => {
      stack = await startStack(target ?? "sqlite", { SESSION_STRATEGY: strategy }, nextExample(mode))
    }, 120_000)
    afterAll(() => stack?.remove())

    async function expectSessionOf(userId: unknown) {
      if (strategy === "database") expect(await sessions(await cookie())).toMatchObject([{ user_id: userId }])
      else expect(await rows(stack.database, "sessions")).toEqual([])
    }

    test("signing in with the provider", async () => {
      await signInWithProvider("Ada")
      const shown = await Promise.all(["#name", "#email", "#role"].map((id) => page.textContent(id)))
      expect(shown).toEqual(["Ada Lovelace", "ada@demo.example", "analyst"])
      const [user, ...others] = await usersWith("ada@demo.example")
      expect(others).toEqual([])
      const accounts = await rows(stack.database, "accounts", "user_id = ?", [user?.id])
      expect(accounts).toMatchObject([{ provider: "demo", provider_account_id: person("Ada").sub, type: "oidc" }])
      await expectSessionOf(user?.id)
    })

    test("signing in with a link by e-mail", async () => {
      const started = Date.now()
      await signInByMail("first@example.com")
      expect(await page.textContent("#email")).toBe("first@example.com")
      const [user] = await usersWith("first@example.com")
      expect(moment(user?.email_verified).getTime()).toBeGreaterThanOrEqual(started)
      expect(await rows(stack.database, "verification_tokens")).toEqual([])
      await expectSessionOf(user?.id)
    })

    test("adding a passkey, and signing in with it", async () => {
      const authenticator = await addVirtualAuthenticator(page)
      await signInByMail("passkey@example.com")
      await page.click("#passkey-register")
      await page.waitForSelector("#passkeys li")
      const [passkey, ...others] = await authenticator.passkeys()
      expect([passkey?.rpId, others]).toEqual(["localhost", []])
      const [user] = await usersWith("passkey@example.com")
      const stored = () => rows(stack.database, "authenticators", "user_id = ?", [user?.id])
      expect(await stored()).toMatchObject([{ credential_id: passkey?.credentialId }])
      const before = Number((await stored())[0]?.counter)
      const accounts = await rows(stack.database, "accounts", "user_id = ?", [user?.id])
      expect(accounts).toMatchObject([{ provider: "passkey", type: "webauthn" }])

      await signOut()
      expect(await cookie()).toBeUndefined()
      await page.click("#passkey-authenticate")
      await page.waitForURL(at("/account"))
      expect(await page.textContent("#email")).toBe("passkey@example.com")
      expect(Number((await stored())[0]?.counter)).toBeGreaterThan(before)
      expect(await usersWith("passkey@example.com")).toHaveLength(1)
      await expectSessionOf(user?.id)
    })

    test("a passkey is named and removed, and only by its user", async () => {
      const authenticator = await addVirtualAuthenticator(page)
      await signInByMail("named@example.com")
      await page.click("#passkey-register")
      const shown = shownIn(page)
      await shown.waitFor()
      const [user] = await usersWith("named@example.com")
      const stored = () => rows(stack.database, "authenticators", "user_id = ?", [user?.id])
      expect(await shown.textContent()).toContain("Not used yet.")
      await shown.locator("input[name=name]").fill("Ada’s laptop")
      await shown.getByText("Name it").click()
      await shown.locator("strong", { hasText: "Ada’s laptop" }).waitFor()
      expect(await stored()).toMatchObject([{ display_name: "Ada’s laptop", last_used: null }])
      await signOut()
      await page.click("#passkey-authenticate")
      await page.waitForURL(at("/account"))
      expect(await shown.textContent()).toMatch(/Ada’s laptop.*Created .* UTC\. Last used .* UTC\./)

      // The form of another user, with the same id.
      const [{ credential_id: id } = {}] = await stored()
      const own = page
      context = await browser.newContext()
      page = await context.newPage()
      await addVirtualAuthenticator(page)
      await signInByMail("stranger@example.com")
      await page.click("#passkey-register")
      await shownIn(page).waitFor()
      for (const button of ["Name it", "Remove"]) {
        const form = shownIn(page).locator("form", { hasText: button })
        await form.locator("input[name=id]").evaluate((input, value) => {
          ;(input as HTMLInputElement).value = value
        }, String(id))
        const answered = page.waitForResponse((response) => response.request().method() === "POST")
        await form.getByText(button).click()
        await answered
      }
      expect(await stored()).toMatchObject([{ display_name: "Ada’s laptop" }])
      await context.close()
      page = own
      context = page.context()

      await shown.getByText("Remove").click()
      await shown.waitFor({ state: "detached" })
      expect(await stored()).toEqual([])
      expect(await rows(stack.database, "accounts", "user_id = ?", [user?.id])).toEqual([])
      await signOut()
      expect(await authenticator.passkeys()).toHaveLength(1)
      await page.click("#passkey-authenticate")
      await page.waitForSelector("#problem, #passkey-failed")
      expect(await cookie()).toBeUndefined()
    })

    test("a passkey alone cannot sign up, and responses do not reveal who has an account", async () => {
      await signInByMail("known@example.com")
      const options = async (email: string, action: string) => {
        const response = await ask(`/api/auth/webauthn-options/passkey?email=${email}&action=${action}`)
        const { options: answer } = (await response.json()) as { options?: { allowCredentials?: unknown } }
        return [response.status, answer?.allowCredentials]
      }
      expect(await options("known@example.com", "authenticate")).toEqual(
        await options("new@example.com", "authenticate"),
      )
      expect(await options("new@example.com", "register")).toEqual([400, undefined])
      expect(await usersWith("new@example.com")).toEqual([])
    })

    test("changing the name", async () => {
      await signInByMail("name@example.com")
      await page.fill("input[name=name]", "Mary Shelley")
      await page.click("#rename")
      await page.waitForSelector('#name:has-text("Mary Shelley")')
      expect(await usersWith("name@example.com")).toMatchObject([{ name: "Mary Shelley" }])
      await expectSignedIn("Mary Shelley")
    })

    test("an update of the session with anything but a name changes nothing", async () => {
      await signInByMail("update@example.com")
      for (const data of [undefined, null, "", [], {}, { user: null }, { user: {} }, { user: { name: { x: 1 } } }]) {
        const answer = await page.evaluate(async (data) => {
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
      const other = await context.newPage()
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
      const authwire = createAuthwireClient({ url: stack.server.grpcUrl, apiKey: stack.server.apiKey })
      try {
        await authwire.users.disableUser({ id, reason: "spam" })
        // A JWT is decrypted in the application, which does not look the user up.
        if (strategy === "jwt") await signOut()
        else await expectSignedOut()
        await page.click("#sign-in-demo")
        await page.click(`button[value="${person("Ada").sub}"]`)
        await page.waitForURL(at("/sign-in-error?error=AccessDenied"))
        expect(await page.textContent("#problem")).toBe("You are not allowed to sign in here.")
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
          run(["policy", "set", `--max-age=${maxAge}`, `--url=${stack.server.grpcUrl}`])
        await signInWithProvider("Grace")
        expect(await policy("60s")).toMatchObject({ code: 0 })
        try {
          await expectSignedIn("Grace Hopper")
          // As if it had been in use for a minute.
          const created = new Date(Date.now() - 60_001).toISOString().slice(0, 23).replace("T", " ")
          await stack.database.query("UPDATE sessions SET created = ? WHERE token_hash = ?", [
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

    /** Checks what the browser and programs get for a signed-in user while the session cannot be read. */
    async function expectUnavailable() {
      const token = await cookie()
      for (const path of ["/account", "/", "/check-mail"]) {
        const answered = await page.goto(at(path))
        const [status, retryAfter] = [answered?.status(), await answered?.headerValue("retry-after")]
        expect([path, status, retryAfter]).toEqual([path, 503, "2"])
        await page.waitForSelector("#unavailable")
      }
      expect(await page.$("#sign-in-demo")).toBeNull()
      for (const path of ["/api/me", "/api/auth/session"]) {
        const response = await asWhoHas(path)
        expect([path, response.status, response.headers.get("retry-after")]).toEqual([path, 503, "2"])
        expect(response.headers.getSetCookie().filter((line) => line.startsWith(sessionCookie))).toEqual([])
      }
      expect(await cookie()).toBe(token)
      // The page reloads itself, and would do so during the next navigation.
      await page.goto("about:blank")
    }

    const back = () => until(async () => (await asWhoHas("/api/me")).status === 200)

    test("while the service is down no user is signed out", async () => {
      await signInByMail("down@example.com")
      const newcomer = (await ask("/api/me")).status
      await stack.server.stop()
      await expectUnavailable()
      expect((await ask("/api/me")).status).toBe(newcomer)
      await stack.restartServer()
      await back()
      await page.goto(at("/account"))
      expect(await page.textContent("#email")).toBe("down@example.com")
    })

    test("a form sent meanwhile is not executed, and leads back to the same page", async () => {
      await signInByMail("typing@example.com")
      await page.fill("input[name=name]", "Never")
      await stack.server.stop()
      try {
        await page.click("#rename")
        await page.waitForSelector("#failed, #unavailable")
      } finally {
        await stack.restartServer()
      }
      await back()
      expect(await usersWith("typing@example.com")).toMatchObject([{ name: null }])
      await page.goto(at("/account"))
      expect(await page.textContent("#email")).toBe("typing@example.com")
    })

    if (strategy === "database" && writesScreenshots)
      test("the pictures of the docs", async () => {
        await context.close()
        context = await browser.newContext(screenshotContext)
        page = await context.newPage()
        await addVirtualAuthenticator(page)
        await page.goto(at("/"))
        await keepScreenshot(page, "nextjs-sign-in")
        await signInWithProvider("Ada")
        await page.click("#passkey-register")
        await shownIn(page).locator("input[name=name]").fill("Ada’s laptop")
        await shownIn(page).getByText("Name it").click()
        await shownIn(page).locator("strong", { hasText: "Ada’s laptop" }).waitFor()
        await keepScreenshot(page, "nextjs-account")
      })

    test("while the service hangs a page waits for it only once", async () => {
      await signInByMail("hung@example.com")
      process.kill(stack.server.pid, "SIGSTOP")
      try {
        const started = performance.now()
        await page.goto(at("/"))
        await page.waitForSelector("#unavailable")
        // The session timeout is two seconds. Without it, a call takes five.
        expect(performance.now() - started).toBeLessThan(4_500)
        await expectUnavailable()
      } finally {
        process.kill(stack.server.pid, "SIGCONT")
      }
      await back()
      await page.goto(at("/account"))
      expect(await page.textContent("#email")).toBe("hung@example.com")
    })
  })

  test("next dev", async () => {
    stack = await startStack("sqlite", {}, nextExample("dev"))
    // The development server compiles a page when it is requested, which takes long.
    page.setDefaultTimeout(150_000)
    try {
      await signInWithProvider("Grace")
      expect(await page.textContent("#name")).toBe("Grace Hopper")
    } finally {
      await stack.remove()
    }
  }, 180_000)
})
