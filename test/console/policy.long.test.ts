import { SessionPolicyService, SessionService, UserService } from "@authwire/proto"
import { hasChromium } from "@authwire/test-support/applications/chromium.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { staticKey } from "@authwire/test-support/processes/server.js"
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { createClient } from "@connectrpc/connect"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { beforeAll, describe, expect, test } from "@jest/globals"
import { callThroughProxy, consoleBrowser, findings, looks } from "./console-browser.js"

const keys = {
  operator: staticKey(["all", "session-policy:write"]),
  application: staticKey(["all"]),
  reading: staticKey(["session-policy:read", "audit:read"]),
  support: staticKey(["users:read"]),
}

const withChromium = hasChromium() ? describe : describe.skip

withChromium("the session policy on the console", () => {
  let browser: Awaited<ReturnType<typeof consoleBrowser>>
  const headers = { authorization: `Bearer ${keys.operator.text}` }
  const clientOf = <T extends typeof SessionPolicyService | typeof SessionService | typeof UserService>(service: T) =>
    createClient(service, createGrpcTransport({ baseUrl: authwire.server.grpcUrl }))

  const authwire = useAuthwire("sqlite", { keys: Object.values(keys), args: ["--audit-store=database"] })
  beforeAll(async () => {
    browser = await consoleBrowser()
    authwire.later(browser.close)
  })

  const open = (apiKey: string, options = {}) => browser.open(authwire.server.httpUrl, apiKey, options)
  const policy = async () => (await clientOf(SessionPolicyService).getSessionPolicy({}, { headers })).policy

  test("is changed with the keyboard, after what changes was shown; a stale one is not overwritten", async () => {
    const { page, faults, close } = await open(keys.operator.text)
    await page.getByRole("link", { name: "Policy" }).focus()
    await page.keyboard.press("Enter")
    await page.getByRole("button", { name: "Change the policy" }).focus()
    await page.keyboard.press("Enter")
    const dialog = page.getByRole("dialog")
    const save = dialog.getByRole("button", { name: "Save" })
    expect(await save.isDisabled()).toBe(true)
    await dialog.getByLabel("Idle timeout").fill("1m")
    await dialog.getByText("Idle timeout must be from 5m to 36500d.").waitFor()
    await dialog.getByLabel("Idle timeout").fill("")
    await dialog.getByLabel("Absolute lifetime").fill("90d")
    await dialog.getByLabel("Most sessions").fill("5")
    expect(await dialog.locator("pre").textContent()).toBe(
      "- Absolute lifetime: no limit\n+ Absolute lifetime: 90d\n" +
        "- Most sessions of a user: no limit\n+ Most sessions of a user: 5\n",
    )
    await page.keyboard.press("Enter")
    await page.getByText("Saved the session policy.").waitFor()
    await page.getByText("5; the oldest ends").waitFor()
    expect(await policy()).toMatchObject({ maxAge: { seconds: 7_776_000n }, maxSessions: 5 })

    await page.getByRole("button", { name: "Change the policy" }).click()
    await dialog.getByLabel("Absolute lifetime").fill("")
    const other = { maxSessions: 3, updateMask: { paths: ["max_sessions"] } }
    await clientOf(SessionPolicyService).updateSessionPolicy(other, { headers })
    await save.click()
    await dialog.getByText("Somebody else has changed this meanwhile. Nothing was saved.").waitFor()
    // Not by saving once more either.
    expect(await save.isDisabled()).toBe(true)
    await dialog.getByLabel("Idle timeout").press("Enter")
    await dialog.getByRole("button", { name: "Reload" }).press("Enter")
    await page.getByText("3; the oldest ends").waitFor()
    expect(await policy()).toMatchObject({ maxAge: { seconds: 7_776_000n }, maxSessions: 3 })
    await page.getByRole("button", { name: "Change the policy" }).press("Enter")
    await dialog.getByLabel("At this limit").selectOption("reject the sign-in")
    await save.press("Enter")
    await page.getByText("3; a further sign-in is rejected").waitFor()
    expect(await policy()).toMatchObject({ maxAge: { seconds: 7_776_000n }, maxSessions: 3, atLimit: 2 })
    expect(faults).toEqual([])
    await close()
  })

  test("those of a provider and everybody are signed out after the tenant was typed; the audit has all of it", async () => {
    const { user } = await clientOf(UserService).createUser({}, { headers })
    const expires = timestampFromMs(Date.now() + 3_600_000)
    const session = { userId: String(user?.id), expires }
    for (const provider of ["github", "google"])
      await clientOf(SessionService).createSession({ ...session, sessionToken: provider, provider }, { headers })
    const isSignedIn = (sessionToken: string) =>
      clientOf(SessionService)
        .getSessionAndUser({ sessionToken }, { headers })
        .then(
          () => true,
          () => false,
        )
    const { page, url, close } = await open(keys.operator.text)
    await page.goto(`${url}/policy`)
    const dialog = page.getByRole("dialog")
    await page.getByLabel("Only who signed in with this provider").fill("github")
    await page.keyboard.press("Enter")
    const confirm = dialog.getByRole("button", { name: "Sign out" })
    expect(await confirm.isDisabled()).toBe(true)
    await dialog.getByRole("textbox").fill("defaul")
    await page.keyboard.press("Enter")
    expect(await confirm.isDisabled()).toBe(true)
    await page.keyboard.press("Escape")
    await dialog.waitFor({ state: "detached" })
    expect([await isSignedIn("github"), await isSignedIn("google")]).toEqual([true, true])
    await page.getByRole("button", { name: "Sign everybody out" }).click()
    await dialog.getByRole("textbox").fill("default")
    await confirm.click()
    await page.getByText("Signed out everybody who signed in with github.").waitFor()
    expect([await isSignedIn("github"), await isSignedIn("google")]).toEqual([false, true])
    await page.getByRole("button", { name: "Sign everybody out" }).click()
    await dialog.getByRole("textbox").fill("default")
    await page.keyboard.press("Enter")
    await page.getByText("Signed out everybody.").waitFor()
    expect(await isSignedIn("google")).toBe(false)
    await page.goto(`${url}/audit`)
    const line = (text: string) => page.getByRole("row").filter({ hasText: text })
    await line("RevokeAllSessions").filter({ hasText: "provider github" }).waitFor()
    await line("UpdateSessionPolicy").filter({ hasText: "STALE_ETAG" }).waitFor()
    await close()
  })

  test("is only shown for a key that may not change it, and no page for others; the proxy changes nothing", async () => {
    const before = await policy()
    const { page, close } = await open(keys.reading.text)
    await page.getByRole("link", { name: "Policy" }).click()
    await page.getByText("Absolute lifetime").waitFor()
    expect(await page.locator("main").getByRole("button").count()).toBe(0)
    const change = { maxSessions: 1, updateMask: "maxSessions" }
    expect(await callThroughProxy(page, "SessionPolicyService/UpdateSessionPolicy", change)).toBe(403)
    expect(await callThroughProxy(page, "SessionService/RevokeAllSessions", {})).toBe(403)
    // By the service, not because the proxy knows no such methods.
    await page.getByRole("link", { name: "Overview" }).click()
    await page.getByRole("listitem").filter({ hasText: "SCOPE_MISSING" }).filter({ hasText: "2" }).waitFor()
    expect(await policy()).toEqual(before)
    await close()
    // What applications have does not include the change of what limits them.
    const application = await open(keys.application.text)
    await application.page.getByRole("link", { name: "Policy" }).click()
    await application.page.getByRole("button", { name: "Sign everybody out" }).waitFor()
    expect(await application.page.getByRole("button", { name: "Change the policy" }).count()).toBe(0)
    await application.close()
    const support = await open(keys.support.text)
    await support.page.getByRole("link", { name: "Users" }).waitFor()
    expect(await support.page.getByRole("link", { name: "Policy" }).count()).toBe(0)
    await support.page.goto(`${support.url}/policy`)
    await support.page.getByText("(scope session-policy:read)").waitFor()
    await support.close()
  })

  test.each(looks)("nothing serious is found, in a window with %j", async (look) => {
    const { page, url, close } = await open(keys.operator.text, look)
    await page.goto(`${url}/policy`)
    await page.getByRole("button", { name: "Change the policy" }).waitFor()
    expect(await findings(page)).toEqual([])
    await page.getByRole("button", { name: "Change the policy" }).click()
    await page.getByRole("dialog").getByLabel("Most sessions").fill("7")
    expect(await findings(page)).toEqual([])
    const other = { idleTimeout: { seconds: BigInt(look.viewport.width) }, updateMask: { paths: ["idle_timeout"] } }
    await clientOf(SessionPolicyService).updateSessionPolicy(other, { headers })
    await page.getByRole("button", { name: "Save" }).click()
    await page.getByRole("button", { name: "Reload" }).waitFor()
    expect(await findings(page)).toEqual([])
    await page.keyboard.press("Escape")
    await page.getByRole("button", { name: "Sign everybody out" }).click()
    await page.getByLabel("Type default to confirm").waitFor()
    expect(await findings(page)).toEqual([])
    await close()
  })
})
