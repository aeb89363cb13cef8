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

  const changed = (url: URL, parameter: string, change: (value: string) => string) => {
    const copy = new URL(url)
    copy.searchParams.set(parameter, change(url.searchParams.get(parameter) ?? ""))
    return copy
  }

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

  test("of many concurrent uses of the link one signs in", async () => {
    const url = await link("race@example.com")
    const pages = await Promise.all(Array.from({ length: 8 }, () => follow(url)))
    const [winner, ...losers] = pages.toSorted((a, b) => a.status - b.status)
    expect(textOf(winner!, "email")).toBe("race@example.com")
    for (const page of losers) expectRejection(page)
    expect(await usersWithEmail(stack.database, "race@example.com")).toHaveLength(1)
  })

  test.each([
    ["another address", "email", () => "somebody.else@example.com"],
    ["the address in capitals", "email", (email: string) => email.toUpperCase()],
    ["a space after the address", "email", (email: string) => `${email} `],
    ["another token", "token", (token: string) => [...token].toReversed().join("")],
    ["the token in capitals", "token", (token: string) => token.toUpperCase()],
  ] as const)(
    "%s instead of the original one fails, and the link still works afterwards",
    async (name, parameter, change) => {
      const email = `${name.replaceAll(" ", "-")}@example.com`
      const url = await link(email)
      const forged = changed(url, parameter, change)
      expect(forged.href).not.toBe(url.href)
      expectRejection(await follow(forged))
      expect(await tokensFor(email)).toHaveLength(1)
      expect(textOf(await follow(url), "email")).toBe(email)
      expect(await usersWithEmail(stack.database, "somebody.else@example.com")).toEqual([])
    },
  )

  test("an expired link fails, and its token is deleted", async () => {
    const url = await link("late@example.com")
    await stack.database.query(
      "UPDATE verification_tokens SET expires = '2001-02-03 04:05:06.789' WHERE identifier = ?",
      ["late@example.com"],
    )
    expectRejection(await follow(url))
    expect(await tokensFor("late@example.com")).toEqual([])
    expect(await usersWithEmail(stack.database, "late@example.com")).toEqual([])
  })

  test("the next link finds the same user", async () => {
    await follow(await link("again@example.com"))
    const [first] = await usersWithEmail(stack.database, "again@example.com")
    await follow(await link("AGAIN@example.com"))
    const [second, ...others] = await usersWithEmail(stack.database, "again@example.com")
    expect(others).toEqual([])
    expect(second?.id).toBe(first?.id)
    expect(moment(second?.email_verified).getTime()).toBeGreaterThan(moment(first?.email_verified).getTime())
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
