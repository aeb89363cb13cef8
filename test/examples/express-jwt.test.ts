import { decode } from "@auth/core/jwt"
import { createBrowser, textOf } from "@authwire/test-support/applications/browser.js"
import {
  homeWhenBack,
  person,
  rows,
  sessionCookie,
  signInWithProvider,
} from "@authwire/test-support/applications/sign-in.js"
import { type Stack, startStack } from "@authwire/test-support/applications/stack.js"
import { testSecret } from "@authwire/test-support/processes/server.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

// An Auth.js application with the JWT strategy, RemoteJwt and the remote adapter. The secret that encrypts its sessions
// is only in the environment of the server. The application has another secret, for the values that Auth.js itself
// signs.
describe("signing in with JWT sessions", () => {
  let stack: Stack
  const appSecret = "the-application's-own-secret-0123456789"
  beforeAll(async () => {
    stack = await startStack("sqlite", { SESSION_STRATEGY: "jwt", AUTH_SECRET: appSecret })
  }, 120_000)
  afterAll(() => stack?.remove())
  const cookieOf = (browser: ReturnType<typeof createBrowser>) =>
    browser.cookie(stack.example.appUrl, sessionCookie) as string

  test("sign in, refresh, sign out", async () => {
    const browser = createBrowser()
    const home = await signInWithProvider(browser, stack.example, "Ada")
    expect([textOf(home, "name"), textOf(home, "email"), textOf(home, "role")]).toEqual([
      "Ada Lovelace",
      "ada@demo.example",
      "analyst",
    ])
    const [user] = await rows(stack.database, "users", "email = ?", ["ada@demo.example"])
    const [account] = await rows(stack.database, "accounts")
    expect(account).toMatchObject({ user_id: user?.id, provider_account_id: person("Ada").sub })
    expect(await rows(stack.database, "sessions")).toEqual([])

    // Auth.js can decrypt the browser's cookie with the secret of the server, and not with that of the application.
    const token = cookieOf(browser)
    const claims = await decode({ token, salt: sessionCookie, secret: testSecret })
    expect(claims).toMatchObject({ sub: user?.id, email: "ada@demo.example", role: "analyst" })
    await expect(decode({ token, salt: sessionCookie, secret: appSecret })).rejects.toThrow()

    // Reading the session issues a new token with a later expiry.
    const session = await browser.open(`${stack.example.appUrl}/auth/session`)
    expect(JSON.parse(session.text)).toMatchObject({ user: { id: user?.id, role: "analyst" } })
    expect(cookieOf(browser)).not.toBe(token)
    expect(await decode({ token: cookieOf(browser), salt: sessionCookie, secret: testSecret })).toMatchObject({
      sub: user?.id,
    })

    const out = await browser.submit(await browser.open(stack.example.appUrl), "sign-out")
    expect(out.status).toBe(200)
    expect(cookieOf(browser)).toBeUndefined()
    expect(textOf(await browser.open(stack.example.appUrl), "name")).toBeUndefined()
  })

  test("while the server is down the page reports that, and the same token is valid afterwards", async () => {
    const browser = createBrowser()
    await signInWithProvider(browser, stack.example, "Grace")
    await stack.server.stop()
    expect((await browser.open(stack.example.appUrl)).status).toBe(503)
    await stack.restartServer()
    expect(textOf(await homeWhenBack(browser, stack.example), "name")).toBe(person("Grace").name)
  })
})
