import { createBrowser, type Page, textOf } from "@authwire/test-support/applications/browser.js"
import {
  moment,
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

describe("signing in with a link by e-mail", () => {
  let stack: Stack

  beforeAll(async () => {
    stack = await startStack(target)
  }, 120_000)

  afterAll(() => stack?.remove())

  const link = (email: string) => requestLink(createBrowser(), stack.example, email)
  const follow = (url: URL) => createBrowser().open(url)
  const tokensFor = (email: string) => rows(stack.database, "verification_tokens", "identifier = ?", [email])

  const expectRejection = (page: Page) => {
    expect([page.status, page.url.pathname + page.url.search]).toEqual([403, "/error?error=Verification"])
    expect(textOf(page, "error")).toContain("It has been used already")
  }

  test("the link signs in and marks the address as verified in the database", async () => {
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

  test("the link works once", async () => {
    const url = await link("once@example.com")
    expect(textOf(await follow(url), "email")).toBe("once@example.com")
    expectRejection(await follow(url))
    const [user] = await usersWithEmail(stack.database, "once@example.com")
    expect(await rows(stack.database, "sessions", "user_id = ?", [user?.id])).toHaveLength(1)
  })

  test("a person with the same address at a provider is rejected", async () => {
    const browser = createBrowser()
    await follow(await link("ada@demo.example"))
    const page = await signInWithProvider(browser, stack.example, "Ada")
    expect(page.url.search).toBe("?error=OAuthAccountNotLinked")
    expect(textOf(page, "error")).toContain("belongs to somebody who signs in another way")
    expect(textOf(page, "name")).toBeUndefined()
    expect(browser.cookie(stack.example.appUrl, sessionCookie)).toBeUndefined()
    expect(await rows(stack.database, "accounts")).toEqual([])
    expect(await usersWithEmail(stack.database, "ada@demo.example")).toHaveLength(1)
  })
})
