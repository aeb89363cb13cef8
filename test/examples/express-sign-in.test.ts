import { createHash } from "node:crypto"
import { type Browser, createBrowser, textOf } from "@authwire/test-support/applications/browser.js"
import {
  homeWhenBack,
  moment,
  type PersonName,
  person,
  requestLink,
  rows,
  sessionCookie,
  signInWithProvider,
  usersWithEmail,
} from "@authwire/test-support/applications/sign-in.js"
import { type Stack, startStack } from "@authwire/test-support/applications/stack.js"
import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

const target = serviceDatabase()

describe("signing in with a link by e-mail, and with an OpenID Connect provider", () => {
  let stack: Stack

  beforeAll(async () => {
    stack = await startStack(target)
  }, 120_000)

  afterAll(() => stack?.remove())

  const signIn = (browser: Browser, name: PersonName) => signInWithProvider(browser, stack.example, name)
  const token = (browser: Browser) => browser.cookie(stack.example.appUrl, sessionCookie)
  const hash = (sessionToken: string | undefined) => createHash("sha256").update(String(sessionToken)).digest()
  const sessions = (sessionToken: string | undefined) =>
    rows(stack.database, "sessions", "token_hash = ?", [hash(sessionToken)])

  const link = (email: string) => requestLink(createBrowser(), stack.example, email)
  const tokensFor = (email: string) => rows(stack.database, "verification_tokens", "identifier = ?", [email])

  test("a link by e-mail signs in and marks the address as verified in the database", async () => {
    const started = Date.now()
    const url = await link("First@Example.com")
    const [stored] = await tokensFor("first@example.com")
    // The hash of the value that Auth.js stores, which itself is a hash of the token in the link.
    expect(Buffer.from(stored?.token_hash as ArrayBuffer).toString("hex")).toMatch(/^[0-9a-f]{64}$/)
    expect(stored).not.toHaveProperty("token")

    const browser = createBrowser()
    const page = await browser.open(url)
    expect([page.status, page.url.href]).toEqual([200, `${stack.example.appUrl}/`])
    expect(textOf(page, "email")).toBe("first@example.com")
    expect(browser.cookie(stack.example.appUrl, sessionCookie)).toBeDefined()
    const [user, ...others] = await usersWithEmail(stack.database, "first@example.com")
    expect(others).toEqual([])
    const verified = moment(user?.email_verified).getTime()
    expect(verified).toBeGreaterThanOrEqual(started)
    expect(verified).toBeLessThanOrEqual(Date.now())
    expect(await tokensFor("first@example.com")).toEqual([])
  })

  test("a person at a provider with the address of another user is rejected", async () => {
    const browser = createBrowser()
    await createBrowser().open(await link("ada@demo.example"))
    const page = await signIn(browser, "Ada")
    expect(page.url.search).toBe("?error=OAuthAccountNotLinked")
    expect(textOf(page, "error")).toContain("belongs to somebody who signs in another way")
    expect(textOf(page, "name")).toBeUndefined()
    expect(browser.cookie(stack.example.appUrl, sessionCookie)).toBeUndefined()
    expect(await rows(stack.database, "accounts")).toEqual([])
    expect(await usersWithEmail(stack.database, "ada@demo.example")).toHaveLength(1)
    for (const table of ["sessions", "users"]) await stack.database.query(`DELETE FROM ${table}`)
  })

  test("the session endpoint returns the user, and never the session token", async () => {
    const browser = createBrowser()
    await signIn(browser, "Ada")
    const answer = await browser.open(`${stack.example.appUrl}/auth/session`)
    const [user] = await usersWithEmail(stack.database, "ada@demo.example")
    expect(JSON.parse(answer.text)).toEqual({
      user: { id: user?.id, name: "Ada Lovelace", email: "ada@demo.example", role: "analyst" },
      expires: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    })
    expect(answer.text).not.toContain(token(browser))
    const nobody = await createBrowser().open(`${stack.example.appUrl}/auth/session`)
    expect(JSON.parse(nobody.text)).toBeNull()
  })

  test("a later sign-in finds the same user, and an account whose id differs only in case is another", async () => {
    await signIn(createBrowser(), "Ada")
    await signIn(createBrowser(), "Ada")
    expect(await usersWithEmail(stack.database, "ada@demo.example")).toHaveLength(1)
    const page = await signIn(createBrowser(), "Grace")
    expect(person("Grace").sub.toLowerCase()).toBe(person("Ada").sub.toLowerCase())
    expect(textOf(page, "name")).toBe("Grace Hopper")
    const subs = [person("Ada").sub, person("Grace").sub]
    const accounts = await rows(stack.database, "accounts", "provider_account_id IN (?, ?)", subs)
    expect(accounts).toHaveLength(2)
    expect(new Set(accounts.map(({ user_id }) => user_id)).size).toBe(2)
  })

  test("a person without an e-mail address", async () => {
    for (let time = 1; time <= 2; time++) {
      const page = await signIn(createBrowser(), "Zoë")
      expect([textOf(page, "name"), textOf(page, "email")]).toEqual(["Zoë Ångström", "unknown"])
    }
    expect(await rows(stack.database, "users", "email IS NULL")).toMatchObject([{ name: "Zoë Ångström" }])
  })

  test("a name that is markup is shown as text", async () => {
    const page = await signIn(createBrowser(), "Robert")
    // The page has one script of its own.
    expect(page.text.match(/<script[^>]*>/gi)).toEqual(['<script type="module" src="/assets/passkey.js">'])
    expect(textOf(page, "name")).toBe(person("Robert").name)
    const [user] = await usersWithEmail(stack.database, person("Robert").email)
    expect(user?.name).toBe(person("Robert").name)
  })

  test("a session that is used is extended, at most once a day", async () => {
    const day = 24 * 60 * 60 * 1000
    const browser = createBrowser()
    await signIn(browser, "Ada")
    const expires = async () => moment((await sessions(token(browser)))[0]?.expires).getTime()
    await stack.database.query("UPDATE sessions SET expires = ? WHERE token_hash = ?", [
      new Date(Date.now() + 20 * day).toISOString().replace("T", " ").slice(0, -1),
      hash(token(browser)),
    ])
    await browser.open(stack.example.appUrl)
    const extended = await expires()
    expect(extended - Date.now()).toBeGreaterThan(29.9 * day)
    await browser.open(stack.example.appUrl)
    expect(await expires()).toBe(extended)
  })

  test("while Authwire is down no user is signed in or out or created; afterwards all users are unchanged", async () => {
    const browser = createBrowser()
    await signIn(browser, "Grace")
    const [before, ...others] = await usersWithEmail(stack.database, "grace@demo.example")
    expect(others).toEqual([])

    await stack.server.stop()
    const down = await browser.open(stack.example.appUrl)
    expect([down.status, textOf(down, "error")]).toEqual([503, expect.stringContaining("does not answer")])
    const asked = await fetch(`${stack.example.appUrl}/auth/session`, {
      headers: { cookie: `${sessionCookie}=${token(browser)}` },
    })
    expect([asked.status, asked.headers.get("retry-after")]).toEqual([503, "2"])
    const newcomer = createBrowser()
    const failed = await signIn(newcomer, "Grace")
    expect([failed.status, failed.url.pathname]).toEqual([503, "/auth/callback/demo"])
    expect(textOf(failed, "error")).toContain("does not answer")
    expect(token(newcomer)).toBeUndefined()
    expect(stack.example.output()).toMatch(/^app: AdapterError <- .*$/m)

    await stack.restartServer()
    expect(textOf(await homeWhenBack(browser, stack.example), "name")).toBe("Grace Hopper")
    expect(textOf(await signIn(newcomer, "Grace"), "name")).toBe("Grace Hopper")
    expect(await usersWithEmail(stack.database, "grace@demo.example")).toEqual([before])
    expect(await rows(stack.database, "accounts", "user_id = ?", [before?.id])).toHaveLength(1)
  })
})
