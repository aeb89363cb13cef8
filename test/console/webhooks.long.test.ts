import { EventKind } from "@authwire/proto"
import { hasChromium } from "@authwire/test-support/applications/chromium.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { createKey } from "@authwire/test-support/processes/keys.js"
import { until } from "@authwire/test-support/until.js"
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals"
import { type Received, type Receiver, startReceiver } from "../webhooks/receiver.js"
import { callThroughProxy, consoleBrowser, findings, hostile, looks } from "./console-browser.js"

const withChromium = hasChromium() ? describe : describe.skip

withChromium("webhooks on the console", () => {
  let browser: Awaited<ReturnType<typeof consoleBrowser>>
  let receiver: Receiver
  // With --dev, so that a webhook may go to loopback.
  const authwire = useAuthwire("sqlite", { args: ["--audit-store=database"] })
  const keyWith = async (scopes: string) => (await createKey(authwire.database, scopes)).text
  const all = async () => (await authwire.client.webhooks.listWebhooks({})).webhooks
  const create = async (name: string) =>
    (await authwire.client.webhooks.createWebhook({ name, url: receiver.url })).webhook?.id as string
  beforeAll(async () => {
    browser = await consoleBrowser()
    authwire.later(browser.close)
  })
  beforeEach(async () => {
    receiver = await startReceiver()
  })
  afterEach(async () => {
    for (const { id } of await all()) await authwire.client.webhooks.deleteWebhook({ id })
    receiver.close()
  })
  const open = async (scopes: string, options = {}) =>
    browser.open(authwire.server.httpUrl, await keyWith(scopes), options)
  const operator = "users:read,audit:read,webhooks:read,webhooks:write"

  test("are created with the keyboard; the secret is shown once and verifies a test, whose outcome is shown", async () => {
    const permissions = { permissions: ["clipboard-read", "clipboard-write"] }
    const { page, faults, close } = await open(operator, permissions)
    await page.getByRole("link", { name: "Webhooks" }).focus()
    await page.keyboard.press("Enter")
    await page.getByText("The tenant has no webhook.").waitFor()
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    const form = page.getByRole("dialog", { name: "Create a webhook" })
    await form.getByLabel("Name").focus()
    await page.keyboard.type("billing")
    await form.getByLabel("Address").fill("https://10.0.0.1/")
    await form.getByLabel("user created").check()
    await page.keyboard.press("Enter")
    await form.getByRole("alert").filter({ hasText: "must not be a private address" }).waitFor()
    await form.getByLabel("Address").fill(receiver.url)
    // The response of the first attempt is lost. The second one returns the webhook that it has created.
    let isLost = false
    await page.route("**/CreateWebhook", async (route) => {
      if (isLost) return route.continue()
      isLost = true
      await route.fetch()
      await route.abort()
    })
    await form.getByLabel("Address").press("Enter")
    await until(() => isLost)
    await form.getByRole("button", { name: "Create", exact: true }).click()
    const dialog = page.getByRole("dialog", { name: "The new secret" })
    await dialog.getByRole("button", { name: "Copy" }).click()
    await dialog.getByText("Copied.").waitFor()
    const secret = (await dialog.locator("pre").textContent()) as string
    expect(secret).toMatch(/^whsec_/)
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe(secret)
    await dialog.getByRole("button", { name: "Done" }).click()
    await page.locator("dialog").waitFor({ state: "detached" })
    expect(await page.content()).not.toContain(secret)
    expect((await all()).map(({ name, kinds, includeUser }) => [name, kinds, includeUser])).toEqual([
      ["billing", [EventKind.USER_CREATED], false],
    ])

    await page.getByRole("row", { name: /billing.*user created.*enabled/ }).waitFor()
    await page.getByRole("link", { name: "billing" }).click()
    await page.getByText("There is no delivery.").waitFor()
    await page.getByRole("button", { name: "Send a test" }).click()
    await page.getByText("The delivery was accepted with status 200.").waitFor()
    receiver.verify(receiver.received[0] as Received, secret)
    await page.getByRole("row", { name: /^test.*accepted with status 200.*1.* ms/ }).waitFor()
    expect(faults).toEqual([])
    await close()
  })

  test("show which deliveries were not accepted and why, and send them again", async () => {
    const id = await create("crm")
    const { page, url, faults, close } = await open(operator)
    await page.goto(`${url}/webhooks/${id}`)
    await page.getByRole("heading", { name: "crm" }).waitFor()
    receiver.answer = () => ({ status: 503 })
    const { user } = await authwire.client.users.createUser({ name: "Ada" })
    const failed = page.getByRole("row", { name: /user created.*Ada.*refused with status 503/ })
    await until(async () => {
      await page.getByRole("button", { name: "Refresh" }).click()
      return (await failed.count()) === 1
    })
    await page.getByRole("img", { name: /^0 accepted \(up\), 1 not accepted \(down\)/ }).waitFor()
    receiver.answer = () => ({ status: 200 })
    await failed.getByRole("button", { name: "Redeliver" }).click()
    await page.getByText("The delivery was accepted with status 200.").waitFor()
    await page.getByRole("row", { name: /user created.*Ada.*accepted with status 200/ }).waitFor()
    await page.getByRole("img", { name: /^1 accepted \(up\), 0 not accepted \(down\)/ }).waitFor()
    expect(receiver.received.map(({ id, body }) => [id, body.data.user_id])).toEqual(
      receiver.received.map(() => [receiver.received[0]?.id, user?.id]),
    )
    receiver.close()
    await page.getByRole("button", { name: "Send a test" }).click()
    await page.getByText("The delivery was not delivered: connection refused.").waitFor()
    await page.getByLabel("Only those that are still to be sent").check()
    await page.getByRole("row", { name: /^test.*again in/ }).waitFor()
    await until(async () => (await page.locator("tbody tr").count()) === 1)
    expect(faults).toEqual([])
    await close()
  })

  test("are changed, disabled, enabled, given a new secret and deleted; the audit has all of it", async () => {
    const id = await create("mail")
    const { page, url, faults, close } = await open(operator)
    await page.goto(`${url}/webhooks/${id}`)
    const dialog = page.getByRole("dialog")
    await page.getByRole("button", { name: "Edit" }).click()
    expect(await dialog.getByRole("button", { name: "Save" }).isDisabled()).toBe(true)
    await dialog.getByLabel("Name").fill("letters")
    await dialog.getByLabel("user deleted").check()
    await dialog.getByLabel("Send the user too").check()
    await dialog.getByRole("button", { name: "Save" }).click()
    await page.getByRole("heading", { name: "letters" }).waitFor()
    expect(await all()).toMatchObject([{ name: "letters", kinds: [EventKind.USER_DELETED], includeUser: true }])

    await page.getByRole("button", { name: "Disable" }).click()
    await dialog.getByRole("button", { name: "Disable" }).click()
    await page.getByText("by an operator").waitFor()
    expect(await page.getByRole("button", { name: "Send a test" }).count()).toBe(0)
    await page.getByRole("button", { name: "Enable" }).click()
    await dialog.getByRole("button", { name: "Enable" }).click()
    await page.getByText("Enabled letters.").waitFor()
    // A receiver that is gone disables it, and the page says so.
    receiver.answer = () => ({ status: 410 })
    await page.getByRole("button", { name: "Send a test" }).click()
    await page.getByText("The delivery was refused with status 410.").waitFor()
    await until(async () => (await all())[0]?.disableTime !== undefined)
    await page.getByRole("button", { name: "Refresh" }).click()
    await page.getByText("the receiver has answered 410").waitFor()
    receiver.answer = () => ({ status: 200 })
    await page.getByRole("button", { name: "Enable" }).click()
    await dialog.getByRole("button", { name: "Enable" }).click()
    await page.getByText("Enabled letters.").waitFor()

    await page.getByRole("button", { name: "Rotate the secret" }).click()
    await dialog.getByRole("button", { name: "Rotate" }).click()
    const made = page.getByRole("dialog", { name: "The new secret" })
    const secret = (await made.locator("pre").textContent()) as string
    await made.getByRole("button", { name: "Done" }).click()
    await page.getByText("signs too, and ends").waitFor()
    await page.getByRole("button", { name: "Send a test" }).click()
    await page.getByText("The delivery was accepted with status 200.").waitFor()
    receiver.verify(receiver.received.at(-1) as Received, secret)

    // Cancelled first.
    await page.getByRole("button", { name: "Delete" }).click()
    await dialog.waitFor()
    await page.keyboard.press("Escape")
    await dialog.waitFor({ state: "detached" })
    expect(await all()).toHaveLength(1)
    await page.getByRole("button", { name: "Delete" }).click()
    await dialog.getByRole("button", { name: "Delete" }).click()
    await page.getByText("The tenant has no webhook.").waitFor()
    expect(await all()).toEqual([])
    await page.goto(`${url}/webhooks/${id}`)
    await page.getByText("There is no such webhook.").waitFor()
    await page.goto(`${url}/audit`)
    const line = (method: string) => page.getByRole("row").filter({ hasText: method })
    for (const method of ["UpdateWebhook", "RotateSecret", "SendTest", "DeleteWebhook"])
      await line(method).first().waitFor()
    expect(faults).toEqual([])
    await close()
  })

  test("are only shown for a key that may not change them, and are no page for others; the proxy changes none", async () => {
    const id = await create("crm")
    const { page, url, close } = await open("webhooks:read,audit:read")
    await page.getByRole("link", { name: "Webhooks" }).click()
    await page.getByRole("row", { name: /crm/ }).waitFor()
    expect(await page.locator("main").getByRole("button").count()).toBe(0)
    await page.goto(`${url}/webhooks/${id}`)
    await page.getByText("There is no delivery.").waitFor()
    expect(await page.locator("main").getByRole("button").allTextContents()).toEqual(["Refresh"])
    const calls: Record<string, object> = {
      CreateWebhook: { name: "n", url: receiver.url },
      UpdateWebhook: { id, disabled: true, updateMask: "disabled" },
      ...{ DeleteWebhook: { id }, RotateSecret: { id }, SendTest: { id }, Redeliver: { id } },
    }
    for (const [method, request] of Object.entries(calls))
      expect([method, await callThroughProxy(page, `WebhookService/${method}`, request)]).toEqual([method, 403])
    // By the service, not because the proxy knows no such methods.
    await page.getByRole("link", { name: "Audit" }).click()
    await page.getByRole("cell", { name: "SCOPE_MISSING" }).first().waitFor()
    for (const method of Object.keys(calls)) await page.getByRole("row").filter({ hasText: method }).first().waitFor()
    expect(await all()).toMatchObject([{ id, name: "crm" }])
    await close()

    // Nobody lets it send what the own key may not read.
    const writing = await open("webhooks:read,webhooks:write")
    await writing.page.goto(`${writing.url}/webhooks`)
    await writing.page.getByRole("button", { name: "Create a webhook" }).click()
    await writing.page.getByRole("dialog").waitFor()
    expect(await writing.page.getByLabel("Send the user too").count()).toBe(0)
    await writing.close()

    const application = await open("all")
    await application.page.getByRole("link", { name: "Users" }).waitFor()
    expect(await application.page.getByRole("link", { name: "Webhooks" }).count()).toBe(0)
    await application.page.goto(`${application.url}/webhooks`)
    await application.page.getByText("(scope webhooks:read)").waitFor()
    await application.page.goto(`${application.url}/webhooks/${id}`)
    await application.page.getByText("There is no such page.").waitFor()
    await application.close()
  })

  test.each(looks)("cannot attack or break the page, and everybody can read it: %j", async (look) => {
    for (const name of hostile) await create(name.slice(0, 255))
    const id = await create("\u202E<b>mail")
    receiver.answer = ({ body }) => ({ status: body.type === "webhook.test" ? 200 : 500 })
    await authwire.client.users.createUser({ name: hostile[0] as string })
    await authwire.client.webhooks.sendTest({ id })
    const sent = async () => (await authwire.client.webhooks.listDeliveries({ webhookId: id })).deliveries
    await until(async () => (await sent()).filter(({ attempts }) => attempts > 0).length === 2)
    const { page, url, faults, close } = await open(operator, look)
    await page.goto(`${url}/webhooks`)
    await page.getByText("U+202E").first().waitFor()
    expect(await findings(page)).toEqual([])
    await page.getByRole("button", { name: "Create a webhook" }).click()
    await page.getByRole("dialog").waitFor()
    expect(await findings(page)).toEqual([])
    await page.goto(`${url}/webhooks/${id}`)
    await page.getByRole("img", { name: /^1 accepted \(up\), 1 not accepted \(down\)/ }).waitFor()
    expect(await findings(page)).toEqual([])
    expect(faults).toEqual([])
    await close()
  })
})
