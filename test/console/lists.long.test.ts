import { hasChromium, type Page } from "@authwire/test-support/applications/chromium.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { staticKey } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { beforeAll, describe, expect, test } from "@jest/globals"
import { callThroughProxy, consoleBrowser, findings, hostile, looks } from "./console-browser.js"

const keys = { full: staticKey(["all"]), counting: staticKey(["users:read"]) }
const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"

const withChromium = hasChromium() ? describe : describe.skip

withChromium("lists and shares on the console", () => {
  let browser: Awaited<ReturnType<typeof consoleBrowser>>
  const authwire = useAuthwire("sqlite", { keys: Object.values(keys) })
  beforeAll(async () => {
    for (const name of ["ada", "bob", "cyd"])
      await authwire.client.users.createUser({ id: name, name, email: `${name}@x.org` })
    const account = { type: "oauth", provider: "github", providerAccountId: "1", userId: "ada" } as const
    await authwire.client.adapter.linkAccount(account)
    await authwire.client.users.disableUser({ id: "bob" })
    const expires = timestampFromMs(Date.now() + 3_600_000)
    for (const [index, provider] of ["github", "github", hostile[0]].entries()) {
      const session = { sessionToken: String(index), userId: "ada", expires, userAgent: firefox }
      await authwire.client.sessions.createSession({ ...session, ...(provider !== undefined && { provider }) })
    }
    browser = await consoleBrowser()
    authwire.later(browser.close)
  })

  const open = (apiKey: string, options = {}) => browser.open(authwire.server.httpUrl, apiKey, options)

  test("users are listed by one filter, which the address holds, and a search is among all of them", async () => {
    const { page, url, faults, close } = await open(keys.full.text)
    const shown = (...names: string[]) =>
      until(async () => String((await page.locator("tbody a").allTextContents()).toSorted()) === String(names))
    await page.goto(`${url}/users`)
    await shown("ada", "bob", "cyd")
    for (const [label, ...names] of [
      ["Disabled", "bob"],
      ["Enabled", "ada", "cyd"],
      ["Seen since yesterday", "ada"],
      ["Created in 7 days", "ada", "bob", "cyd"],
    ] as const) {
      await page.getByLabel("Show").selectOption(label)
      await shown(...names)
    }
    await page.getByText("3 users").waitFor()
    await page.getByRole("row", { name: /bob/ }).getByText("disabled").waitFor()
    await page.getByLabel("Show").selectOption("With an account of…")
    await page.getByLabel("Provider").fill("github")
    await page.keyboard.press("Enter")
    await shown("ada")
    expect(page.url()).toBe(`${url}/users?show=provider%3Agithub`)
    // The service has no index that counts them.
    expect(await page.getByText(/^\d+ users?$/).count()).toBe(0)
    await page.reload()
    await shown("ada")
    expect(await page.getByLabel("Provider").inputValue()).toBe("github")
    await page.getByRole("searchbox").fill("bo")
    await shown("bob")
    expect(await page.getByLabel("Show").inputValue()).toBe("all")
    await page.getByRole("link", { name: "Users" }).click()
    await shown("ada", "bob", "cyd")
    expect(await page.getByRole("searchbox").inputValue()).toBe("")
    await page.goBack()
    await shown("bob")
    expect(await page.getByRole("searchbox").inputValue()).toBe("bo")
    expect(faults).toEqual([])
    await close()
  })

  test("sign-ups and sessions are counted, as far as the key may see them", async () => {
    const figure = (page: Page, name: string) =>
      page.locator(".figures div", { has: page.getByText(name, { exact: true }) }).locator("dd")
    const { page, faults, close } = await open(keys.full.text)
    const chart = page.getByRole("img", { name: "3 sessions in the last 30 days, by day" })
    await chart.waitFor()
    // The number of today, until the pointer is at another day.
    await page.getByText(/: 3 sessions$/).waitFor()
    await chart.hover()
    await page.getByText(/: 0 sessions$/).waitFor()
    const active = Number(await authwire.database.query("SELECT COUNT(*) AS n FROM sessions").then(([row]) => row?.n))
    expect(active).toBe(3)
    await until(async () => (await figure(page, "Active sessions").textContent()) === "3")
    expect(await figure(page, "Signed in today").textContent()).toBe("3")
    const users = await figure(page, "Sign-ups today").textContent()
    await until(async () => (await figure(page, "Users").textContent()) === users)
    // A number in all that takes too long keeps nobody from seeing the days.
    await page.route("**/CountSessions", async (route) => {
      const isOfAll = route.request().postDataBuffer()?.[0] === 8
      await (isOfAll ? route.abort() : route.continue())
    })
    await page.reload()
    await chart.waitFor()
    await until(async () => (await figure(page, "Active sessions").textContent()) === "not known")
    expect(await figure(page, "Signed in today").textContent()).toBe("3")
    expect(faults).toEqual([])
    await close()
    const counting = await open(keys.counting.text)
    await counting.page.getByText("Sign-ups by day").waitFor()
    expect(await counting.page.getByText("Active sessions").count()).toBe(0)
    expect(await callThroughProxy(counting.page, "SessionService/CountSessions", {})).toBe(403)
    await counting.close()
  })

  test("the newest sessions are shown by provider, and by browser and system, if the key may see them", async () => {
    const { page, close } = await open(keys.full.text)
    const item = (name: string) => page.getByRole("listitem").filter({ hasText: name })
    await page.getByText("3 sessions in all.").waitFor()
    expect(await item("github").textContent()).toMatch(/github\s*2$/)
    expect(await item("<script>").count()).toBe(1)
    expect(await item("Firefox on Linux").textContent()).toMatch(/3$/)
    const rows = page.getByRole("table").getByRole("row", { name: /Firefox on Linux/ })
    expect(await rows.getByRole("link", { name: "ada" }).count()).toBe(3)
    await close()
    const counting = await open(keys.counting.text)
    await counting.page.getByText("Sign-ups by day").waitFor()
    expect(await counting.page.getByText("Newest sessions").count()).toBe(0)
    await counting.close()
  })

  test.each(looks)("nothing serious is found, in a window with %j", async (look) => {
    const { page, url, close } = await open(keys.full.text, look)
    await page.getByText("3 sessions in all.").waitFor()
    expect(await findings(page)).toEqual([])
    await page.goto(`${url}/users?show=provider%3Agithub`)
    await page.getByLabel("Provider").waitFor()
    expect(await findings(page)).toEqual([])
    await close()
  })

  test("lists have further pages, another list begins with its first page, and an empty page is not the end", async () => {
    const names = Array.from({ length: 50 }, (_, index) => `more-${String(index).padStart(2, "0")}`)
    for (const name of names) await authwire.client.users.createUser({ id: name, name })
    const { page, url, close } = await open(keys.full.text)
    const first = () => page.locator("tbody a").first().textContent()
    const count = (users: number) => until(async () => (await page.locator("tbody a").count()) === users)
    const next = page.getByRole("button", { name: "Next page" })
    await page.goto(`${url}/users?show=new-7`)
    await count(50)
    await next.click()
    await count(3)
    await page.getByRole("link", { name: "Users", exact: true }).click()
    await count(50)
    await page.getByText("53 users").waitFor()
    expect(await first()).toBe("more-49")
    // By an index each: who was created first, and who was seen last.
    await page.getByLabel("Show").selectOption("All users, oldest first")
    await until(async () => (await first()) === "ada")
    await page.getByLabel("Show").selectOption("Last seen first")
    await count(1)
    expect(await first()).toBe("ada")
    await page.getByLabel("Show").selectOption("All users, newest first")
    await count(50)
    for (const id of names) await authwire.client.users.disableUser({ id })
    await page.getByLabel("Show").selectOption("Enabled")
    await page.getByText("No user of this page matches.").waitFor()
    await next.click()
    await count(2)
    await close()
  })
})
