import {
  type Browser,
  type BrowserContext,
  hasChromium,
  launchChromium,
  type Page,
} from "@authwire/test-support/applications/chromium.js"
import { type PersonName, person, rows, sessionCookie } from "@authwire/test-support/applications/sign-in.js"
import { type Stack, startStack } from "@authwire/test-support/applications/stack.js"
import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals"

/** A browser with its own cookies and user agent. */
interface Device {
  context: BrowserContext
  page: Page
}

// The databases differ only in the store, whose contract has its own tests.
const target = serviceDatabase()

;(hasChromium() ? describe : describe.skip)("your devices, in three browsers", () => {
  let stack: Stack
  let chromium: Browser
  const devices: Device[] = []

  beforeAll(async () => {
    stack = await startStack(target)
    chromium = await launchChromium()
  }, 120_000)
  afterAll(async () => {
    await chromium?.close()
    await stack?.remove()
  })
  afterEach(async () => {
    for (const { context } of devices.splice(0)) await context.close()
    await stack.database.query("DELETE FROM sessions")
  })

  const at = (path: string) => `${stack.example.appUrl}${path}`
  const token = async ({ context }: Device) =>
    (await context.cookies()).find(({ name }) => name === sessionCookie)?.value

  async function signIn(userAgent: string, name: PersonName = "Ada"): Promise<Device> {
    const context = await chromium.newContext({ userAgent })
    const page = await context.newPage()
    devices.push({ context, page })
    await page.goto(at("/"))
    await page.click("#sign-in-demo button")
    await page.click(`button[value="${person(name).sub}"]`)
    await page.waitForSelector("#sign-out")
    return { context, page }
  }
  const threeOf = async (name: PersonName) =>
    [await signIn("Laptop", name), await signIn("Phone", name), await signIn("Library", name)] as const

  /** The devices that the page lists, the newest sign-in first. This device is marked. */
  async function shown({ page }: Device): Promise<string[]> {
    await page.goto(at("/devices"))
    return (await page.locator(".device h2").allTextContents()).map((text) => text.trim())
  }
  async function isSignedIn({ page }: Device): Promise<boolean> {
    await page.goto(at("/"))
    return (await page.locator("#sign-out").count()) === 1
  }
  const deviceOf = (page: Page, userAgent: string) => page.locator(".device", { hasText: userAgent })
  const idOf = (page: Page, userAgent: string) => deviceOf(page, userAgent).getAttribute("data-id")

  /** Submits a form as the page would. Returns the status and the redirect. */
  const post = async ({ context }: Device, path: string, form: Record<string, string>) => {
    const response = await context.request.post(at(path), { form, maxRedirects: 0 })
    return [response.status(), response.headers().location]
  }

  test("shows each device, and marks the current one", async () => {
    const [laptop, phone, library] = await threeOf("Ada")
    expect(await shown(laptop)).toEqual(["Library", "Phone", "Laptop this device"])
    expect(await shown(phone)).toEqual(["Library", "Phone this device", "Laptop"])
    expect(await shown(library)).toEqual(["Library this device", "Phone", "Laptop"])
    const address = await deviceOf(laptop.page, "Laptop").locator("dd").first().textContent()
    expect(address).toMatch(/127\.0\.0\.1$/)
    expect(await rows(stack.database, "sessions", "user_agent = ?", ["Phone"])).toHaveLength(1)
    expect(await laptop.page.content()).not.toContain(await token(laptop))
  })

  test("signs out exactly the selected device", async () => {
    const [laptop, phone, library] = await threeOf("Ada")
    await shown(laptop)
    await deviceOf(laptop.page, "Phone").locator("button").click()
    await laptop.page.waitForURL(at("/devices"))
    expect(await shown(laptop)).toEqual(["Library", "Laptop this device"])
    expect([await isSignedIn(laptop), await isSignedIn(phone), await isSignedIn(library)]).toEqual([true, false, true])
    // It can sign in again, with a new session.
    await phone.page.click("#sign-in-demo button")
    await phone.page.click(`button[value="${person("Ada").sub}"]`)
    expect(await shown(phone)).toEqual(["Phone this device", "Library", "Laptop"])
  })

  test("signs out all other devices, and keeps this one", async () => {
    const [laptop, phone, library] = await threeOf("Ada")
    const stranger = await signIn("Elsewhere", "Grace")
    await shown(phone)
    await phone.page.click("form.others button")
    await phone.page.waitForSelector("form.others", { state: "detached" })
    expect(await shown(phone)).toEqual(["Phone this device"])
    expect([await isSignedIn(laptop), await isSignedIn(phone), await isSignedIn(library)]).toEqual([false, true, false])
    expect(await isSignedIn(stranger)).toBe(true)
  })

  test("cannot sign out devices of another user, whatever the form contains", async () => {
    const ada = await signIn("Laptop", "Ada")
    const grace = await signIn("Elsewhere", "Grace")
    await shown(grace)
    const theirs = String(await idOf(grace.page, "Elsewhere"))
    expect(await shown(ada)).toEqual(["Laptop this device"])
    const csrfToken = await ada.page.locator(".device input[name=csrfToken]").inputValue()
    for (const id of [theirs, theirs.toLowerCase(), "", "x".repeat(33)]) {
      expect(await post(ada, "/devices/sign-out", { csrfToken, id })).toEqual([303, "/devices"])
    }
    expect(await post(ada, "/devices/sign-out", { csrfToken, id: theirs, userId: "x" })).toEqual([303, "/devices"])
    expect([await isSignedIn(ada), await isSignedIn(grace)]).toEqual([true, true])
  })

  test("rejects a form without the token of its own browser", async () => {
    const [laptop, phone] = await threeOf("Ada")
    await shown(phone)
    const foreign = await phone.page.locator("form.others input[name=csrfToken]").inputValue()
    await shown(laptop)
    const id = String(await idOf(laptop.page, "Phone"))
    for (const csrfToken of [foreign, "", "x"]) {
      expect(await post(laptop, "/devices/sign-out", { csrfToken, id })).toEqual([403, undefined])
      expect(await post(laptop, "/devices/sign-out-others", { csrfToken })).toEqual([403, undefined])
    }
    // A cookie that Auth.js has not created.
    const own = await laptop.page.locator("form.others input[name=csrfToken]").inputValue()
    await laptop.context.addCookies([{ name: "authjs.csrf-token", value: `${own}|${"0".repeat(64)}`, url: at("/") }])
    expect(await post(laptop, "/devices/sign-out-others", { csrfToken: own })).toEqual([403, undefined])
    expect(await shown(laptop)).toHaveLength(3)
  })

  test("is not available without a sign-in", async () => {
    const [laptop] = await threeOf("Ada")
    await shown(laptop)
    const csrfToken = await laptop.page.locator("form.others input[name=csrfToken]").inputValue()
    await laptop.context.clearCookies({ name: sessionCookie })
    for (const path of ["/devices/sign-out", "/devices/sign-out-others"])
      expect(await post(laptop, path, { csrfToken, id: "x" })).toEqual([303, "/"])
    await laptop.page.goto(at("/devices"))
    expect(laptop.page.url()).toBe(at("/"))
    expect(await rows(stack.database, "sessions")).toHaveLength(3)
  })

  test("shows a user agent that contains markup as text", async () => {
    const device = await signIn('<img src=x onerror="alert(1)">')
    expect(await shown(device)).toEqual(['<img src=x onerror="alert(1)"> this device'])
    expect(await device.page.locator("img").count()).toBe(0)
  })
})
