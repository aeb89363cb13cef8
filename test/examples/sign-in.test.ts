import { createHash } from "node:crypto"
import { createBrowser, textOf } from "@authwire/test-support/applications/browser.js"
import { moment, person, rows, sessionCookie, signInWithProvider } from "@authwire/test-support/applications/sign-in.js"
import { type Stack, startStack } from "@authwire/test-support/applications/stack.js"
import { databaseTargets } from "@authwire/test-support/databases/databases.js"
import { expect, test } from "@jest/globals"

/** How encrypted values are stored in the database. */
const sealed = expect.stringMatching(/^sealed\.1\.[\w-]{8}\.[\w-]{38,}$/)

// One sign-in through the whole stack on every database. All else above the store is tested on one database.
test.each(databaseTargets())(
  "a user signs in and out on %s, and every table has the rows",
  async (target) => {
    const stack = await startStack(target)
    try {
      await signInAndOut(stack)
    } finally {
      await stack.remove()
    }
  },
  120_000,
)

async function signInAndOut(stack: Stack): Promise<void> {
  const browser = createBrowser()
  const page = await signInWithProvider(browser, stack.example, "Ada")
  expect(page.status).toBe(200)
  expect(page.url.href).toBe(`${stack.example.appUrl}/`)
  expect([textOf(page, "name"), textOf(page, "email")]).toEqual(["Ada Lovelace", "ada@demo.example"])
  expect(textOf(page, "role")).toBe("analyst")

  const [user, ...otherUsers] = await rows(stack.database, "users")
  expect(otherUsers).toEqual([])
  expect(user).toMatchObject({ name: "Ada Lovelace", email: "ada@demo.example", email_verified: null })
  expect(JSON.parse(String(user?.extra))).toEqual({ role: "analyst" })

  const [account, ...otherAccounts] = await rows(stack.database, "accounts")
  expect(otherAccounts).toEqual([])
  expect(account).toMatchObject({
    provider: "demo",
    provider_account_id: person("Ada").sub,
    user_id: user?.id,
    type: "oidc",
    token_type: "bearer",
    scope: "openid profile email",
    access_token: sealed,
    refresh_token: sealed,
    id_token: sealed,
  })
  expect(Number(account?.expires_at) - Date.now() / 1000).toBeGreaterThan(3500)

  const [session, ...otherSessions] = await rows(stack.database, "sessions")
  expect(otherSessions).toEqual([])
  expect(session?.user_id).toBe(user?.id)
  expect(moment(session?.expires).toISOString()).toBe(textOf(page, "expires"))
  const hash = createHash("sha256")
    .update(String(browser.cookie(stack.example.appUrl, sessionCookie)))
    .digest()
  expect(Buffer.from(session?.token_hash as Uint8Array)).toEqual(hash)

  expect(textOf(await browser.submit(page, "sign-out"), "name")).toBeUndefined()
  expect(await rows(stack.database, "sessions")).toEqual([])
}
