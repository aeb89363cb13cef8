import { ApiKeyService } from "@authwire/proto"
import { hasChromium } from "@authwire/test-support/applications/chromium.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { staticKey } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { createClient } from "@connectrpc/connect"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { beforeAll, describe, expect, test } from "@jest/globals"
import { ask } from "../auth/access/asking.js"
import { callThroughProxy, consoleBrowser, findings, hostile, looks } from "./console-browser.js"

const keys = {
  operator: staticKey(["all", "keys:write", "tenants:read", "tenants:write"]),
  tenants: staticKey(["tenants:read"]),
  reading: staticKey(["keys:read", "audit:read"]),
  support: staticKey(["users:read"]),
}

const withChromium = hasChromium() ? describe : describe.skip

withChromium("keys on the console", () => {
  let browser: Awaited<ReturnType<typeof consoleBrowser>>
  const create = (name: string, scopes: string[]) =>
    createClient(ApiKeyService, createGrpcTransport({ baseUrl: authwire.server.grpcUrl })).createApiKey(
      { name, scopes },
      { headers: { authorization: `Bearer ${keys.operator.text}` } },
    )
  const authwire = useAuthwire("sqlite", { keys: Object.values(keys), args: ["--audit-store=database"] })
  beforeAll(async () => {
    browser = await consoleBrowser()
    authwire.later(browser.close)
  })

  const open = (apiKey: string, options = {}) => browser.open(authwire.server.httpUrl, apiKey, options)

  test("are created with the keyboard, shown once, and revoked; the audit has both", async () => {
    const permissions = { permissions: ["clipboard-read", "clipboard-write"] }
    const { page, url, faults, close } = await open(keys.operator.text, permissions)
    await page.getByRole("link", { name: "Keys" }).focus()
    await page.keyboard.press("Enter")
    await page.getByText("The database has no key of this tenant.").waitFor()
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await page.getByRole("dialog").waitFor()
    expect(await page.getByRole("button", { name: "Create", exact: true }).isDisabled()).toBe(true)
    await page.getByLabel("Name").focus()
    await page.keyboard.type("support")
    await page.getByLabel("Expires after this many days").fill("9")
    // A preset chooses its scopes, which can be changed.
    await page.getByLabel("gateway").check()
    expect(await page.getByLabel("sessions:introspect").isChecked()).toBe(true)
    await page.getByLabel("sessions:introspect").uncheck()
    await page.getByLabel("users:read").focus()
    await page.keyboard.press("Space")
    // The response of the first attempt is lost. The second one returns the key that it has created.
    let isLost = false
    await page.route("**/CreateApiKey", async (route) => {
      if (isLost) return route.continue()
      isLost = true
      await route.fetch()
      await route.abort()
    })
    await page.keyboard.press("Enter")
    await page.getByRole("alert").waitFor()
    await page.keyboard.press("Enter")
    const dialog = page.getByRole("dialog", { name: "The new key" })
    await dialog.getByRole("button", { name: "Copy" }).click()
    await dialog.getByText("Copied.").waitFor()
    const text = await dialog.locator("pre").textContent()
    expect(text).toMatch(/^awk_[a-z0-9]{16}_[\w-]{43}$/)
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe(text)
    const made = { text: text as string }
    await dialog.getByRole("button", { name: "Done" }).click()
    // A closed dialog has no role any more, but stays in the document until its event.
    await page.locator("dialog").waitFor({ state: "detached" })
    await page.getByRole("row", { name: /support/ }).waitFor()
    expect(await page.content()).not.toContain(made.text.slice(21))
    expect(await ask(authwire.server, made)).toBe("USER_NOT_FOUND")

    // Cancelled first.
    await page.getByRole("button", { name: "Revoke" }).click()
    await page.getByRole("dialog").waitFor()
    await page.keyboard.press("Escape")
    await page.getByRole("dialog").waitFor({ state: "detached" })
    expect(await ask(authwire.server, made)).toBe("USER_NOT_FOUND")
    await page.getByRole("button", { name: "Revoke" }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click()
    await page.getByText("Revoked support.").waitFor()
    await page.getByRole("cell", { name: /^revoked/ }).waitFor()
    await until(async () => (await ask(authwire.server, made)) === "API_KEY_INVALID")
    expect(await page.getByRole("button", { name: "Revoke" }).count()).toBe(0)

    await page.goto(`${url}/audit`)
    const line = (method: string) => page.getByRole("row").filter({ hasText: method })
    // Both attempts have created the same key.
    for (const [method, lines] of [
      ["CreateApiKey", 2],
      ["RevokeApiKey", 1],
    ] as const) {
      await line(method).first().waitFor()
      const shown = await line(method).allTextContents()
      expect(shown).toHaveLength(lines)
      for (const one of shown) {
        // The name of the key beside its id.
        expect(one).toContain(`of the tests${keys.operator.id}`)
        expect(one).toContain(`api_key_id ${made.text.slice(4, 20)}`)
      }
    }
    expect(faults).toEqual([])
    await close()
  })

  test("are only listed for a key that may not change them, and the proxy changes none", async () => {
    const { apiKey } = await create("of an application", ["users:read"])
    const { page, url, close } = await open(keys.reading.text)
    await page.getByRole("link", { name: "Keys" }).click()
    await page.getByText("of an application").waitFor()
    expect(await page.locator("main").getByRole("button").count()).toBe(0)
    expect(await callThroughProxy(page, "ApiKeyService/CreateApiKey", { name: "n", scopes: ["keys:read"] })).toBe(403)
    expect(await callThroughProxy(page, "ApiKeyService/RevokeApiKey", { id: apiKey?.id })).toBe(403)
    await page.getByRole("link", { name: "Overview" }).click()
    await page.getByRole("listitem").filter({ hasText: "SCOPE_MISSING" }).filter({ hasText: "2" }).waitFor()
    const rows = await authwire.database.query("SELECT name, revoked FROM api_keys WHERE name <> 'support'")
    expect(rows).toEqual([{ name: "of an application", revoked: null }])
    await page.goto(`${url}/audit?key=${keys.operator.id}`)
    await page.getByRole("cell", { name: "CreateApiKey" }).first().waitFor()
    expect(await page.locator("tbody tr").filter({ hasNotText: keys.operator.id }).count()).toBe(0)

    // A method by its short name, and times.
    await page.getByLabel("Show").selectOption("of a method")
    await page.getByRole("combobox", { name: "Method" }).fill("RevokeApiKey")
    await page.getByLabel("Since").fill("2020-01-01T00:00")
    await page.keyboard.press("Enter")
    await until(() => page.url().endsWith("/audit?method=RevokeApiKey&since=2020-01-01T00%3A00"))
    await page.getByRole("cell", { name: "SCOPE_MISSING" }).first().waitFor()
    expect(await page.locator("tbody tr").filter({ hasNotText: "RevokeApiKey" }).count()).toBe(0)
    await page.getByLabel("Before").fill("2020-01-02T00:00")
    await page.getByRole("button", { name: "Filter" }).click()
    await page.getByText("No entry matches.").waitFor()
    await close()
  })

  test("and the audit are no pages for a key without their scopes, not even by their address", async () => {
    const { page, url, close } = await open(keys.support.text)
    await page.getByRole("link", { name: "Users" }).waitFor()
    for (const [path, name, method] of [
      ["/keys", "Keys", "ApiKeyService/ListApiKeys"],
      ["/tenants", "Tenants", "TenantService/ListTenants"],
      ["/audit", "Audit", "AuditService/ListAuditEntries"],
      ["/live", "Live", "SessionService/ListSessions"],
    ] as const) {
      await page.goto(url + path)
      await page.getByText("The API key has no access to this page").waitFor()
      expect([name, await page.getByRole("link", { name }).count()]).toEqual([name, 0])
      expect([method, await callThroughProxy(page, method, { userId: "u" })]).toEqual([method, 403])
    }
    await close()
  })

  test("that were revoked say so: what to do, and nothing else is possible", async () => {
    const { apiKey, key } = await create("of this console", ["all"])
    const { page, url, close } = await open(key)
    await page.waitForSelector(".figures")
    await page.goto(`${url}/keys`)
    await page.getByText("the key of this console").waitFor()
    await authwire.database.query("UPDATE api_keys SET revoked = created WHERE id = ?", [apiKey?.id])
    await until(async () => (await ask(authwire.server, { text: key })) === "API_KEY_INVALID")
    const what = page.getByText("The service does not accept the API key. Start the console again with a valid key.")
    // The page that is open says it with the next call, and whoever comes later sees nothing else.
    await page.getByRole("link", { name: "Users" }).click()
    await what.waitFor()
    for (const path of ["/", "/users", "/live", "/keys", "/tenants", "/audit"]) {
      await page.goto(url + path)
      await what.waitFor()
      expect([path, await page.getByRole("link").count()]).toEqual([path, 0])
      expect([path, await page.getByRole("button").allTextContents()]).toEqual([path, ["Try again"]])
    }
    const calls: Record<string, object> = {
      "UserService/ListUsers": {},
      "UserService/DeleteUser": { id: "u" },
      "SessionService/RevokeUserSessions": { userId: "u" },
      "ApiKeyService/ListApiKeys": {},
      "ApiKeyService/CreateApiKey": { name: "n", scopes: ["all"] },
      "AuditService/ListAuditEntries": {},
      "TenantService/ListTenants": {},
    }
    for (const [method, request] of Object.entries(calls))
      expect([method, await callThroughProxy(page, method, request)]).toEqual([method, 401])
    await close()
  })

  test("come with a new tenant, which the console lists; without tenants:write nobody creates one", async () => {
    const { page, faults, close } = await open(keys.operator.text)
    await page.getByRole("link", { name: "Tenants" }).click()
    await page.getByRole("row", { name: /^default/ }).waitFor()
    await page.getByRole("button", { name: "Create a tenant" }).click()
    const form = page.getByRole("dialog", { name: "Create a tenant" })
    expect(await findings(page)).toEqual([])
    await form.getByLabel("Name: a-z, 0-9 and -").fill("Acme")
    await form.getByLabel("Name of its first key").fill("operator of acme")
    await form.getByLabel("users:read").check()
    await form.getByRole("button", { name: "Create", exact: true }).click()
    // The browser keeps the dialog, because the name does not match.
    expect(await form.locator("input:invalid").count()).toBe(1)
    await form.getByLabel("Name: a-z, 0-9 and -").fill("acme")
    // The response of the first attempt is lost. The second one returns what that has created.
    let isLost = false
    await page.route("**/CreateTenant", async (route) => {
      if (isLost) return route.continue()
      isLost = true
      await route.fetch()
      await route.abort()
    })
    await form.getByRole("button", { name: "Create", exact: true }).click()
    await form.getByRole("alert").waitFor()
    await form.getByRole("button", { name: "Create", exact: true }).click()
    const dialog = page.getByRole("dialog", { name: "The new key" })
    const text = (await dialog.locator("pre").textContent()) as string
    await dialog.getByRole("button", { name: "Done" }).click()
    await page.locator("dialog").waitFor({ state: "detached" })
    await page.getByRole("row", { name: /^acme/ }).waitFor()
    expect(await findings(page)).toEqual([])
    expect(await ask(authwire.server, { text })).toBe("USER_NOT_FOUND")
    expect(faults).toEqual([])
    await close()

    const reading = await open(keys.tenants.text)
    await reading.page.getByRole("link", { name: "Tenants" }).click()
    await reading.page.getByRole("row", { name: /^acme/ }).waitFor()
    expect(await reading.page.locator("main").getByRole("button").count()).toBe(0)
    const request = { name: "globex", apiKeyName: "n", scopes: ["tenants:read"] }
    expect(await callThroughProxy(reading.page, "TenantService/CreateTenant", request)).toBe(403)
    await reading.close()
  })

  test.each(looks)("cannot attack or break the page, and everybody can read it: %j", async (options) => {
    for (const name of hostile) await create(name.slice(0, 255), ["users:read"])
    const { page, url, faults, close } = await open(keys.operator.text, options)
    await page.waitForSelector("nav")
    await page.goto(`${url}/keys`)
    await page.getByText("U+202E").first().waitFor()
    expect(await findings(page)).toEqual([])
    await page.getByRole("button", { name: "Create a key" }).click()
    await page.getByRole("dialog").waitFor()
    expect(await findings(page)).toEqual([])
    await page.goto(`${url}/audit`)
    await page.getByText("CreateApiKey").first().waitFor()
    expect(await findings(page)).toEqual([])
    expect(faults).toEqual([])
    await close()
  })
})
