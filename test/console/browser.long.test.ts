import { hasChromium } from "@authwire/test-support/applications/chromium.js"
import { keepScreenshot, writesScreenshots } from "@authwire/test-support/applications/screenshots.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { staticKey } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { beforeAll, describe, expect, test } from "@jest/globals"
import { callThroughProxy, consoleBrowser, findings, hostile, looks } from "./console-browser.js"

const keys = {
  full: staticKey(["all"], { name: "web application" }),
  reading: staticKey(["users:read", "sessions:read", "authenticators:read"]),
}
const withChromium = hasChromium() ? describe : describe.skip

withChromium("the console in a browser", () => {
  let browser: Awaited<ReturnType<typeof consoleBrowser>>
  let ada: string
  const authwire = useAuthwire("sqlite", { keys: Object.values(keys), args: ["--audit-store=database"] })
  beforeAll(async () => {
    const create = (email: string, name: string, more = {}) =>
      authwire.client.adapter.createUser({
        id: crypto.randomUUID(),
        email,
        name,
        image: null,
        emailVerified: null,
        ...more,
      })
    ada = (await create("ada@example.com", "Ada", { role: "admin" })).id
    await authwire.client.adapter.linkAccount({
      userId: ada,
      type: "oauth",
      provider: "github",
      providerAccountId: "ada",
    } as never)
    await authwire.client.adapter.createAuthenticator?.({
      credentialID: "a2V5",
      userId: ada,
      providerAccountId: "ada",
      credentialPublicKey: "a2V5",
      counter: 0,
      credentialDeviceType: "multiDevice",
      credentialBackedUp: true,
    })
    const nanos = 0
    const expires = { seconds: BigInt(Math.floor(Date.now() / 1000) + 86_400), nanos }
    for (const userAgent of [
      "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
      writesScreenshots
        ? "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1"
        : (hostile[0] ?? ""),
    ]) {
      const session = { sessionToken: crypto.randomUUID(), userId: ada, expires, ip: "192.0.2.1", userAgent }
      await authwire.client.sessions.createSession(session)
    }
    // Not on the pictures.
    for (const [index, name] of writesScreenshots ? [] : hostile.entries())
      await create(`eve${index}@example.com`, name, { note: name.slice(0, 500) })
    browser = await consoleBrowser()
    authwire.later(browser.close)
  })

  const open = (apiKey: string, options = {}) => browser.open(authwire.server.httpUrl, apiKey, options)

  if (writesScreenshots)
    test("the pictures of the docs", async () => {
      const people = [
        "Grace Hopper",
        "Alan Turing",
        "Barbara Liskov",
        "Edsger Dijkstra",
        "Radia Perlman",
        "Donald Knuth",
      ]
      for (const name of people) {
        const email = `${name.toLowerCase().replace(" ", ".")}@example.com`
        await authwire.client.adapter.createUser({ id: crypto.randomUUID(), email, name, emailVerified: null })
      }
      const views = [
        ["console-users", "/users?q=", { colorScheme: "light", viewport: { width: 960, height: 640 } }],
        ["console-user", `/users/${ada}`, { colorScheme: "dark", viewport: { width: 960, height: 780 } }],
        ["console-audit", "/audit", { colorScheme: "light", viewport: { width: 960, height: 480 } }],
        ["console-phone", "/", { colorScheme: "light", viewport: { width: 390, height: 700 } }],
      ] as const
      for (const [name, path, options] of views) {
        const { page, url, close } = await open(keys.full.text, options)
        await page.waitForSelector(".figures")
        await page.goto(url + path)
        await page.getByRole("heading", { level: 1 }).waitFor()
        await page.getByRole("status").first().waitFor({ state: "hidden" })
        await page.waitForTimeout(1000)
        await keepScreenshot(page, name)
        await close()
      }
    })

  test("shows no action to a key that only reads, and forwards none for it", async () => {
    const { page, url, close } = await open(keys.reading.text)
    await page.waitForSelector(".figures")
    expect(await page.getByRole("link", { name: "Live" }).count()).toBe(0)
    // The user has something of each kind, about which a key that may act has buttons.
    await page.goto(`${url}/users/${ada}`)
    for (const text of ["Firefox on Linux", "github", "synchronised"]) await page.getByText(text).waitFor()
    expect(await page.locator("main").getByRole("button").count()).toBe(0)
    const sessionId = (await authwire.client.sessions.listSessions({ userId: ada })).sessions[0]?.id
    const calls: Record<string, object> = {
      "UserService/UpdateUser": { id: ada, name: "x", updateMask: "name" },
      "UserService/DeleteUser": { id: ada },
      "UserService/DisableUser": { id: ada },
      "UserService/EnableUser": { id: ada },
      "AccountService/UnlinkAccount": { provider: "github", providerAccountId: "ada" },
      "SessionService/RevokeSession": { id: sessionId },
      "SessionService/RevokeUserSessions": { userId: ada },
      "SessionService/RevokeAllSessions": {},
      "AuthenticatorService/DeleteAuthenticator": { credentialId: "a2V5" },
    }
    const rows = () =>
      Promise.all(
        ["users", "accounts", "sessions", "authenticators"].map((table) =>
          authwire.database.query(`SELECT * FROM ${table}`),
        ),
      )
    const before = await rows()
    for (const [method, request] of Object.entries(calls))
      expect([method, await callThroughProxy(page, method, request)]).toEqual([method, 403])
    expect(await rows()).toEqual(before)
    await close()
  })

  test("finds a user by the keyboard, and acts: sign out, edit, unlink, delete", async () => {
    const { page, faults, close } = await open(keys.full.text)
    await page.waitForSelector(".figures")
    await page.keyboard.press("/")
    await page.waitForSelector("[data-focus]:focus")
    await page.keyboard.type("ADA@ex")
    await page.getByText("eve0@example.com").waitFor({ state: "hidden" })
    await page.getByRole("link", { name: "Ada" }).waitFor()
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    await page.getByText("Firefox on Linux").waitFor()
    await page.getByRole("button", { name: "Sign out", exact: true }).last().click()
    await page.getByRole("dialog").getByRole("button", { name: "Sign out" }).click()
    await page.getByText("The session is signed out.").waitFor()
    expect((await authwire.client.sessions.listSessions({ userId: ada })).sessions).toHaveLength(1)

    await page.getByRole("button", { name: "Edit" }).click()
    await page.getByLabel("Name").fill("Ada Lovelace")
    expect(await page.locator(".difference").textContent()).toMatch(/^- name: Ada\n\+ name: Ada Lovelace/)
    await page.getByRole("button", { name: "Save" }).click()
    await page.getByRole("heading", { name: "Ada Lovelace" }).waitFor()
    expect(await authwire.client.adapter.getUser(ada)).toMatchObject({ name: "Ada Lovelace", role: "admin" })

    await page.getByRole("button", { name: "Edit" }).click()
    await page.getByLabel("Name").fill("Ada, stale")
    await authwire.client.users.updateUser({ id: ada, name: "Ada Byron", updateMask: { paths: ["name"] } })
    await page.getByRole("button", { name: "Save" }).click()
    await page.getByText("Somebody else has changed this meanwhile. Nothing was saved.").waitFor()
    expect(await page.getByRole("button", { name: "Save" }).isDisabled()).toBe(true)
    await page.getByRole("button", { name: "Reload" }).click()
    await page.getByRole("heading", { name: "Ada Byron" }).waitFor()
    expect(await authwire.client.adapter.getUser(ada)).toMatchObject({ name: "Ada Byron" })

    // An empty name removes it. Extra has the null of the picture, as it was read.
    await page.getByRole("button", { name: "Edit" }).click()
    await page.getByLabel("Name").fill("")
    const extra = page.getByLabel("Extra, as JSON")
    await extra.fill((await extra.inputValue()).replace("admin", "owner"))
    await page.getByRole("button", { name: "Save" }).click()
    await page.getByRole("heading", { name: "ada@example.com" }).waitFor()
    expect(await authwire.client.adapter.getUser(ada)).toMatchObject({ name: null, image: null, role: "owner" })

    await page.getByRole("button", { name: "Disable" }).click()
    await page.getByLabel("Reason").fill("a stolen device")
    await page.getByRole("dialog").getByRole("button", { name: "Disable" }).click()
    await page.getByText("The user is disabled, and signed out of 1 session.").waitFor()
    // Without a reload the session and its buttons are gone.
    await page.getByText("The user is not signed in with a session in the database.").waitFor()
    expect(await page.getByRole("button", { name: "Sign out" }).count()).toBe(0)
    await page.getByText("a stolen device").waitFor()
    expect((await authwire.client.users.getUser({ id: ada })).user?.disabled?.reason).toBe("a stolen device")
    await page.getByRole("button", { name: "Enable" }).click()
    await page.getByText("a stolen device").waitFor({ state: "hidden" })

    await page.getByRole("button", { name: "Remove" }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click()
    await page.getByText("The user has no passkey.").waitFor()
    expect((await authwire.client.authenticators.listAuthenticators({ userId: ada })).authenticators).toEqual([])
    for (const method of ["EnableUser", "DisableUser", "UpdateUser", "RevokeSession"]) {
      await page.getByRole("table").getByText(method, { exact: true }).first().waitFor()
    }

    await page.getByRole("button", { name: "Unlink" }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Unlink" }).click()
    await page.getByText("No account is linked.").waitFor()

    await page.getByRole("button", { name: "Delete" }).click()
    const confirm = page.getByRole("dialog").getByRole("button", { name: "Delete" })
    expect(await confirm.isDisabled()).toBe(true)
    await page.keyboard.press("Escape")
    expect(await authwire.client.adapter.getUser(ada)).not.toBeNull()
    await page.getByRole("button", { name: "Delete" }).click()
    await page.getByLabel("Type ada@example.com to confirm").fill("ada@example.com")
    await confirm.click()
    await page.getByText("Deleted ada@example.com.").waitFor()
    expect(await authwire.client.adapter.getUser(ada)).toBeNull()
    expect(faults).toEqual([])
    await close()
  })

  test("shows events as they are committed, and misses none in a pause", async () => {
    const { page, url, close } = await open(keys.full.text)
    await page.waitForSelector("nav")
    await page.goto(`${url}/live`)
    const create = (email: string) => authwire.client.adapter.createUser({ id: email, email, emailVerified: null })
    await page.getByText("Waiting for events.").waitFor()
    // The stream begins at an unknown moment, so the first event may be before it.
    let at = 0
    const seen = page.getByText("live-0@", { exact: false })
    while ((await seen.count()) === 0) {
      at += 1
      await create(`live-0@${at}.example`)
      await page.waitForTimeout(200)
    }
    await page.getByRole("button", { name: "Pause" }).click()
    await create("paused@example.com")
    await page.getByRole("button", { name: "Resume" }).click()
    await page.getByText("paused@example.com").waitFor()
    // A user is named, and a time has seconds.
    await authwire.client.users.createUser({ id: "live-ada", name: "Ada of the events" })
    const row = page.getByRole("row").filter({ has: page.getByRole("link", { name: "Ada of the events" }) })
    await row.getByText(/:\d\d:\d\d/).waitFor()
    await close()
  })

  test("creates a user once, also if the first answer is lost, and shows when and with which picture", async () => {
    const { page, url, faults, close } = await open(keys.full.text)
    await page.goto(`${url}/users`)
    await page.getByRole("button", { name: "Create user" }).click()
    const dialog = page.getByRole("dialog", { name: "Create a user" })
    await dialog.getByLabel("E-mail address").fill("grace@example.com")
    await dialog.getByLabel("Name").fill("Grace")
    await dialog.getByLabel("The address is verified").check()
    let isLost = false
    await page.route("**/CreateUser", async (route) => {
      if (isLost) return route.continue()
      isLost = true
      await route.fetch()
      await route.abort()
    })
    await page.keyboard.press("Enter")
    await dialog.getByRole("alert").waitFor()
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { name: "Grace" }).waitFor()
    const grace = await authwire.client.adapter.getUserByEmail("grace@example.com")
    expect(page.url()).toBe(`${url}/users/${grace?.id}`)
    expect(grace).toMatchObject({ name: "Grace", emailVerified: expect.any(Date) })
    await page.getByText("Created", { exact: true }).waitFor()

    const id = String(grace?.id)
    const pixel = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
    const setImage = (image: string) =>
      authwire.client.users.updateUser({ id, image, updateMask: { paths: ["image"] } })
    await setImage(pixel)
    await page.reload()
    await until(() => page.evaluate("document.querySelector('.picture')?.naturalWidth === 1"))
    // One of another host is not asked for, and what is no address leads nowhere.
    await setImage("https://pictures.example/grace.png")
    await page.reload()
    await page.getByRole("link", { name: "https://pictures.example/grace.png" }).waitFor()
    await setImage("javascript:alert(1)")
    await page.reload()
    await page.getByText("javascript:alert(1)").waitFor()
    expect(await page.getByRole("link", { name: "javascript" }).count()).toBe(0)

    await page.goto(`${url}/users`)
    await page.getByRole("button", { name: "Create user" }).click()
    await dialog.getByLabel("E-mail address").fill("GRACE@example.com")
    await page.keyboard.press("Enter")
    await dialog.getByText("Another user has this e-mail address.").waitFor()
    expect(faults).toEqual([])
    await close()
  })

  test("keeps its navigation while the service does not answer, also if it is loaded then", async () => {
    const other = await authwire.another()
    const { page, close } = await browser.open(other.httpUrl, keys.full.text)
    await page.waitForSelector(".figures")
    await other.stop()
    await page.reload()
    await page.getByText("not ready").first().waitFor()
    await page.getByRole("link", { name: "Users" }).click()
    await page.getByRole("heading", { name: "Users" }).waitFor()
    // Once, and not after another sentence of the same meaning.
    await page
      .locator("main")
      .getByText(/^The service cannot be reached: .*The console tries again\.$/)
      .waitFor()
    await close()
  })

  test("relative times tick, and what no user has is said in the words of the service", async () => {
    const { page, url, close } = await open(keys.full.text)
    await page.goto(`${url}/users`)
    const time = page.locator("time").first()
    await time.waitFor()
    const shown = await time.textContent()
    await until(async () => (await time.textContent()) !== shown)
    await page.goto(`${url}/users/nobody`)
    await page.getByText("No such user.").waitFor()
    await authwire.client.users.createUser({ id: "without-address" })
    await page.goto(`${url}/users/without-address`)
    await page.locator("dl.facts").getByText("Created", { exact: true }).waitFor()
    await close()
  })

  test("says what to do with a key that the service does not accept", async () => {
    const { page, close } = await open("awk_0000000000000000_unknown")
    await page.getByText("Start the console again with a valid key.").waitFor()
    await close()
  })

  test.each(looks)("users cannot attack or break the page, and everybody can read it: %j", async (options) => {
    const { page, url, faults, close } = await open(keys.full.text, options)
    await page.waitForSelector(".figures")
    const views = [
      ["/", "Sign-ups by day"],
      ["/users", "eve0@example.com"],
      ["/live", "Waiting for events."],
    ]
    for (const index of hostile.keys()) {
      const user = await authwire.client.adapter.getUserByEmail(`eve${index}@example.com`)
      views.push([`/users/${user?.id}`, "The user has no passkey."])
    }
    for (const [path = "", text = ""] of views) {
      await page.goto(url + path)
      await page.getByText(text).first().waitFor()
      expect([path, await findings(page)]).toEqual([path, []])
      // On a phone a cell has the name of its column before it, unless it is the title of its card.
      const label = "getComputedStyle(document.querySelector('td[data-label]'), '::before').content"
      if (path === "/users") expect(await page.evaluate(label)).toBe(options.viewport.width < 400 ? '"Id"' : "none")
    }
    expect(faults).toEqual([])
    await close()
  })
})
