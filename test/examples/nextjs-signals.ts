import { createAuthwireClient } from "@authwire/client"
import type { Page } from "@authwire/test-support/applications/chromium.js"
import { nextExample } from "@authwire/test-support/applications/next-example.js"
import { startStack } from "@authwire/test-support/applications/stack.js"
import type { DatabaseTarget } from "@authwire/test-support/databases/databases.js"
import { freePort } from "@authwire/test-support/machine/free-port.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { providersFile } from "../provider-tokens/world.js"
import type { NextVisitor } from "./nextjs-visitor.js"

/** For how long at most a session that has ended is returned from the session cache, in milliseconds: its default. */
const maxStaleMs = 1_000

/** Tests that a session which ends at the provider ends here, and the other way round. */
export function describeSignals(visit: NextVisitor, target: DatabaseTarget): void {
  const { at, ask, asWhoHas, cookie, sessions, signInWithProvider, expectSignedIn, expectSignedOut } = visit

  describe.each(["off", "on"])("signals, with the session cache %s", (cache) => {
    let issuer: string
    beforeAll(async () => {
      const port = await freePort()
      issuer = `http://127.0.0.1:${port}`
      const entry = { token_endpoint: `${issuer}/token`, issuer, client_id: "authwire-example", auth_method: "none" }
      const file = providersFile({ default: { demo: { ...entry, signals: true } } })
      const environment = { OIDC_PORT: String(port), SESSION_CACHE: cache }
      visit.stack = await startStack(target, environment, nextExample("standalone"), [`--providers-file=${file}`])
    }, 120_000)
    afterAll(() => visit.stack?.remove())

    const confirm = (page: Page) => page.locator("button[name=logout]").click()
    /** Whether the provider would ask before it ends a session, because there is one. */
    async function isSignedInAtProvider(): Promise<boolean> {
      const page = await visit.context.newPage()
      await page.goto(`${issuer}/session/end`)
      const [button] = await Promise.race([
        page.waitForSelector("button[name=logout]").then(() => [true]),
        page.waitForURL(`${issuer}/session/end/success`).then(() => [false]),
      ])
      await page.close()
      return button === true
    }
    /** Counts the calls of the service that have read a session for the application. */
    async function reads(): Promise<number> {
      const { server } = visit.stack
      const id = crypto.randomUUID()
      const client = createAuthwireClient({ url: server.grpcUrl })
      await client.sessions.countSessions({}, { headers: { "x-request-id": id } })
      client.close()
      // The lines of the calls before are there too.
      await until(() => server.log().includes(id))
      return server.log().match(/SessionService\/GetSessionAndUser/g)?.length ?? 0
    }

    test("a user who signs out at the provider in another tab is signed out here", async () => {
      await signInWithProvider("Ada")
      await expectSignedIn("Ada Lovelace")
      const token = await cookie()
      const readsOfOne = async () => {
        const before = await reads()
        expect((await asWhoHas("/api/me")).status).toBe(200)
        return (await reads()) - before
      }
      // The lease of the cache lasts for a second, and ends in a longer pause of the application.
      if (cache === "on") await until(async () => (await readsOfOne()) === 0)
      else expect(await readsOfOne()).toBe(1)

      const tab = await visit.context.newPage()
      await tab.goto(`${issuer}/session/end`)
      await confirm(tab)
      await tab.waitForURL(`${issuer}/session/end/success`)
      const ended = performance.now()
      expect(await sessions(token)).toEqual([])
      if (cache === "on") {
        let asked = ended
        while ((await asWhoHas("/api/me")).status === 200) {
          expect(asked - ended).toBeLessThan(maxStaleMs)
          asked = performance.now()
        }
      }
      expect((await asWhoHas("/api/me")).status).toBe(401)
      await expectSignedOut()
      expect(await cookie()).toBeUndefined()
    })

    test("a user who signs out here is signed out at the provider, which leads back", async () => {
      await signInWithProvider("Grace")
      const token = await cookie()
      expect(await isSignedInAtProvider()).toBe(true)
      await visit.page.click("#sign-out")
      await visit.page.waitForURL((url) => url.href.startsWith(`${issuer}/session/end?`))
      expect(await sessions(token)).toEqual([])
      expect(await cookie()).toBeUndefined()
      expect((await ask("/api/me", { cookie: `authjs.session-token=${token}` })).status).toBe(401)
      await confirm(visit.page)
      await visit.page.waitForURL(at("/"))
      await visit.page.waitForSelector("#sign-in-demo")
      expect(await isSignedInAtProvider()).toBe(false)
    })
  })
}
