import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { type Browser, hasChromium, launchChromium, type Page } from "@authwire/test-support/applications/chromium.js"
import { createNextApp, hasNextjs, type NextApp } from "@authwire/test-support/applications/nextjs.js"
import { blocksOf } from "@authwire/test-support/applications/pages.js"
import { person } from "@authwire/test-support/applications/sign-in.js"
import { type Authwire, startAuthwire } from "@authwire/test-support/processes/authwire.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

const fixture = "next-auth-4/application"
const cookie = "next-auth.session-token"
const clientSecret = "a secret of the client, which the provider knows"
const documentedRoute = blocksOf("docs/next-auth-4.md")[1]?.code ?? ""
const canRun = hasChromium() && hasNextjs(fixture)

;(canRun ? describe : describe.skip)("an application of next-auth 4 in Chromium", () => {
  let authwire: Authwire
  let browser: Browser
  let provider: ChildProcess
  let issuer: string
  beforeAll(async () => {
    browser = await launchChromium()
    authwire = await startAuthwire("sqlite")
    const program = fileURLToPath(new URL("../../examples/express/dist/oidc.js", import.meta.url))
    const env = { PATH: process.env.PATH, OIDC_PORT: "0", OIDC_CLIENT_SECRET: clientSecret }
    provider = fork(program, { env, stdio: ["ignore", "ignore", "ignore", "ipc"] })
    ;[{ issuer }] = (await once(provider, "message")) as [{ issuer: string }]
  })
  afterAll(async () => {
    await browser?.close()
    if (provider !== undefined) {
      const closed = once(provider, "close")
      provider.kill()
      await closed
    }
    await authwire?.close()
  })

  describe.each(["pages", "app"])("with the router of %s/", (router) => {
    let app: NextApp
    beforeAll(async () => {
      const environment = {
        AUTHWIRE_URL: authwire.server.grpcUrl,
        DEMO_ISSUER: issuer,
        DEMO_SECRET: clientSecret,
        NEXTAUTH_SECRET: "a secret of the application",
        AUTH_TRUST_HOST: "true",
      }
      app = createNextApp(environment, fixture, [router, "auth.js"])
      if (router === "app") app.write("app/api/auth/[...nextauth]/route.js", documentedRoute)
      await app.build()
    }, 300_000)
    afterAll(() => app?.remove())

    test.each(["database", "jwt"])(
      "and sessions of the strategy %s, a user signs up, signs out and in again",
      async (strategy) => {
        const next = await app.serve({ SESSION_STRATEGY: strategy })
        const context = await browser.newContext()
        try {
          const home = next.url.replace("127.0.0.1", "localhost")
          const page = await context.newPage()
          const { sub, email } = person("Ada")
          const signIn = async () => {
            await page.goto(`${home}/api/auth/signin?callbackUrl=/`)
            await page.click("button")
            await page.click(`button[value="${sub}"]`)
            await page.waitForURL(`${home}/`)
            return userOn(page)
          }
          expect(await signIn()).toBe(email)
          const [account, ...others] = await authwire.rows("SELECT user_id, type, token_type FROM accounts")
          expect(others).toEqual([])
          expect(account).toMatchObject({ type: "oauth", token_type: "bearer" })
          const value = (await context.cookies()).find(({ name }) => name === cookie)?.value
          const found = await authwire.client.introspection.introspect({
            headers: [{ name: "cookie", value: `${cookie}=${value}` }],
            nextAuth4: true,
            withUser: true,
          })
          expect(found).toMatchObject({ sub: account?.user_id, user: { email, extra: { role: "analyst" } } })
          const sessions = () => authwire.rows("SELECT id FROM sessions")
          expect(await sessions()).toHaveLength(strategy === "database" ? 1 : 0)

          await page.goto(`${home}/api/auth/signout`)
          await page.click("button")
          await page.waitForURL(`${home}/`)
          expect(await userOn(page)).toBe("nobody")
          expect(await sessions()).toEqual([])

          expect(await signIn()).toBe(email)
          expect(await authwire.rows("SELECT id FROM users")).toEqual([{ id: account?.user_id }])

          await authwire.client.users.disableUser({ id: String(account?.user_id) })
          await context.clearCookies()
          await page.goto(`${home}/api/auth/signin?callbackUrl=/`)
          await page.click("button")
          await page.click(`button[value="${sub}"]`)
          await page.waitForURL(`${home}/api/auth/error?error=AccessDenied`)
          expect(await page.textContent("h1")).toBe("Access Denied")
        } catch (error) {
          throw new Error(next.output(), { cause: error })
        } finally {
          await context.close()
          await next.stop()
          for (const { id } of await authwire.rows("SELECT id FROM users"))
            await authwire.adapter.deleteUser(String(id))
        }
      },
      60_000,
    )

    if (router !== "app") return
    // The last test: the service is gone afterwards.
    test("the route of the guide answers 503 in an outage", async () => {
      const next = await app.serve({ SESSION_STRATEGY: "database" })
      await authwire.server.stop()
      const headers = { accept: "text/html", cookie: `${cookie}=any` }
      const answer = await fetch(`${next.url}/api/auth/session`, { headers })
      expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "2"])
      expect(await answer.text()).toContain("You have not been signed out.")
      await next.stop()
    })
  })
})

async function userOn(page: Page): Promise<string | null> {
  return page.textContent("#user")
}
