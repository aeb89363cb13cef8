import {
  addVirtualAuthenticator,
  type Browser,
  type BrowserContext,
  hasChromium,
  launchChromium,
  type Page,
  type VirtualAuthenticator,
} from "@authwire/test-support/applications/chromium.js"
import { rows, sessionCookie, usersWithEmail } from "@authwire/test-support/applications/sign-in.js"
import { type Stack, startStack } from "@authwire/test-support/applications/stack.js"
import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals"

const target = serviceDatabase()

/** Converts Base64 to the form that Auth.js writes. */
const base64 = (text: string) => Buffer.from(text, "base64").toString("base64")

;(hasChromium() ? describe : describe.skip).each(["database", "jwt"] as const)(
  "passkeys in Chromium, with %s sessions",
  (strategy) => {
    let stack: Stack
    let browser: Browser
    let context: BrowserContext
    let page: Page
    let authenticator: VirtualAuthenticator
    let home: string

    beforeAll(async () => {
      stack = await startStack(target, { SESSION_STRATEGY: strategy })
      browser = await launchChromium()
      home = `http://localhost:${new URL(stack.example.appUrl).port}/`
    }, 120_000)
    afterAll(async () => {
      await browser?.close()
      await stack?.remove()
    })
    // A new user with a device of its own.
    beforeEach(async () => {
      context = await browser.newContext()
      page = await context.newPage()
      authenticator = await addVirtualAuthenticator(page)
      await page.goto(home)
    })
    afterEach(() => context.close())

    const text = (id: string) => page.locator(`#${id}`).textContent()
    const submit = (form: string) => page.click(`#${form} button`)
    const sessionToken = async () => (await context.cookies()).find(({ name }) => name === sessionCookie)?.value
    const passkeysOf = (userId: unknown) => rows(stack.database, "authenticators", "user_id = ?", [userId])
    const sessionsOf = (userId: unknown) => rows(stack.database, "sessions", "user_id = ?", [userId])

    async function register(email: string) {
      await page.fill("#register-passkey input[name=email]", email)
      await submit("register-passkey")
      await page.waitForSelector("#sign-out")
      const [user, ...others] = await usersWithEmail(stack.database, email)
      expect(others).toEqual([])
      return user as NonNullable<typeof user>
    }
    async function signIn() {
      await submit("sign-in-passkey")
      await page.waitForSelector("#sign-out, #error")
    }
    async function signOut() {
      await submit("sign-out")
      await page.waitForSelector("#sign-in-passkey")
    }

    test("an account is created with a passkey: a user, an account and an authenticator, with the data of the device", async () => {
      const user = await register("new@example.com")
      expect([await page.title(), await text("email")]).toEqual(["Hello, new@example.com", "new@example.com"])
      expect(user).toMatchObject({ email: "new@example.com", email_verified: null })
      const [passkey, ...others] = await authenticator.passkeys()
      expect(others).toEqual([])
      const id = base64(String(passkey?.credentialId))
      expect(await rows(stack.database, "accounts", "user_id = ?", [user.id])).toMatchObject([
        { provider: "passkey", provider_account_id: id, type: "webauthn", access_token: null },
      ])
      expect(await passkeysOf(user.id)).toMatchObject([
        { credential_id: id, provider_account_id: id, transports: "internal", counter: passkey?.signCount },
      ])
      expect(await sessionsOf(user.id)).toHaveLength(strategy === "database" ? 1 : 0)
    })

    test("signs in again, without an address, and the counter of the device is stored", async () => {
      const user = await register("again@example.com")
      const [before] = await passkeysOf(user.id)
      await signOut()
      expect(await sessionToken()).toBeUndefined()
      await signIn()
      expect(await text("email")).toBe("again@example.com")
      const [passkey] = await authenticator.passkeys()
      const [after] = await passkeysOf(user.id)
      const times = { last_used: expect.anything(), updated: expect.anything() }
      expect(after).toEqual({ ...before, ...times, counter: passkey?.signCount })
      expect(Number(after?.counter)).toBeGreaterThan(Number(before?.counter))
      expect(await usersWithEmail(stack.database, "again@example.com")).toEqual([user])
    })

    test("of a second device is added to the account, and both sign in to it", async () => {
      const user = await register("two@example.com")
      const first = page
      page = await context.newPage()
      const second = await addVirtualAuthenticator(page)
      await page.goto(home)
      const answered = page.waitForEvent("framenavigated")
      await submit("add-passkey")
      await answered
      expect(await second.passkeys()).toHaveLength(1)
      expect(await passkeysOf(user.id)).toHaveLength(2)
      await signOut()
      for (page of [page, first]) {
        await page.goto(home)
        await signIn()
        expect(await text("email")).toBe("two@example.com")
        await signOut()
      }
      expect(await usersWithEmail(stack.database, "two@example.com")).toEqual([user])
    })

    test("the address of an existing user is not given to another user", async () => {
      const user = await register("taken@example.com")
      await signOut()
      await page.fill("#register-passkey input[name=email]", "Taken@example.com")
      await submit("register-passkey")
      await page.waitForFunction(() => document.getElementById("passkey-message")?.textContent?.startsWith("Somebody"))
      expect(await text("passkey-message")).toContain("Somebody has this address")
      expect(await usersWithEmail(stack.database, "taken@example.com")).toEqual([user])
      expect(await passkeysOf(user.id)).toHaveLength(1)
      expect(await sessionToken()).toBeUndefined()
    })

    test("whose counter has decreased is a copy, and signs nobody in", async () => {
      const user = await register("copied@example.com")
      await signOut()
      await stack.database.query("UPDATE authenticators SET counter = 1000 WHERE user_id = ?", [user.id])
      await signIn()
      expect(await text("error")).toContain("does not fit")
      expect(await sessionToken()).toBeUndefined()
      expect(await passkeysOf(user.id)).toMatchObject([{ counter: 1000 }])
    })

    if (strategy === "database")
      test("is named and removed on the page of devices, and only by its user", async () => {
        const user = await register("owner@example.com")
        const [stored] = await passkeysOf(user.id)
        const id = String(stored?.credential_id)
        await page.goto(`${home}devices`)
        expect(await page.locator(".passkey .used").textContent()).toBe("not yet")
        await page.fill(".passkey input[name=name]", '<b>Laptop</b> "é"')
        await page.click(".rename button")
        await page.waitForSelector("h2:has-text('Laptop')")
        expect(await page.locator(".passkey h2").textContent()).toBe('<b>Laptop</b> "é"')
        expect(await passkeysOf(user.id)).toMatchObject([{ display_name: '<b>Laptop</b> "é"' }])
        await page.goto(home)
        await signOut()
        await signIn()
        await page.goto(`${home}devices`)
        expect(await page.locator(".passkey .used").textContent()).toMatch(/UTC$/)

        // Somebody else sends the forms with the same id.
        const other = await browser.newContext()
        const theirs = await other.newPage()
        await addVirtualAuthenticator(theirs)
        await theirs.goto(home)
        await theirs.fill("#register-passkey input[name=email]", "other@example.com")
        await theirs.click("#register-passkey button")
        await theirs.waitForSelector("#sign-out")
        await theirs.goto(`${home}devices`)
        const csrfToken = await theirs.locator(".rename input[name=csrfToken]").inputValue()
        for (const path of ["rename", "remove"])
          for (const form of [{ csrfToken, id }, { csrfToken, id: "x y" }, { id }]) {
            const options = { form: { name: "theirs", ...form }, maxRedirects: 0 }
            const response = await other.request.post(`${home}devices/passkeys/${path}`, options)
            expect(response.status()).toBe("csrfToken" in form ? 303 : 403)
          }
        expect(await passkeysOf(user.id)).toMatchObject([{ display_name: '<b>Laptop</b> "é"' }])
        await other.close()

        await page.click(".remove button")
        await page.waitForSelector(".passkey", { state: "detached" })
        expect(await passkeysOf(user.id)).toEqual([])
        expect(await rows(stack.database, "accounts", "user_id = ?", [user.id])).toEqual([])
        await page.goto(home)
        await signOut()
        await signIn()
        expect(await sessionToken()).toBeUndefined()
      })

    test("at an IP address instead of a host name the page explains where passkeys work", async () => {
      await page.goto(stack.example.appUrl)
      await page.waitForSelector("#passkey-message:not([hidden])")
      expect(await page.locator("#passkey-message a").getAttribute("href")).toBe(home)
      expect(await page.locator("#register-passkey").isVisible()).toBe(false)
    })
  },
)
