import { readFileSync } from "node:fs"
import { EventKind, WebhookDisableReason } from "@authwire/proto"
import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { until } from "@authwire/test-support/until.js"
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals"
import { type Receiver, startReceiver } from "./receiver.js"

// The service sends to a real receiver. It has --dev, with which a webhook may go to loopback.
describe("webhooks", () => {
  const authwire = useAuthwire(serviceDatabase())
  let receiver: Receiver
  let made: string[]
  beforeEach(async () => {
    receiver = await startReceiver()
    made = []
  })
  afterEach(async () => {
    for (const id of made) await authwire.client.webhooks.deleteWebhook({ id })
    receiver.close()
  })

  const create = async (options: { kinds?: EventKind[]; includeUser?: boolean } = {}) => {
    const created = await authwire.client.webhooks.createWebhook({ name: "billing", url: receiver.url, ...options })
    const { webhook, secret } = created as typeof created & { webhook: { id: string } }
    made.push(webhook.id)
    return { id: webhook.id, secret }
  }
  const createUser = async (email?: string) =>
    (await authwire.client.users.createUser({ email, name: "Ada" })).user?.id as string
  const deliveries = async (webhookId: string) =>
    (await authwire.client.webhooks.listDeliveries({ webhookId })).deliveries
  const find = async (id: string) =>
    (await authwire.client.webhooks.listWebhooks({})).webhooks.find((one) => one.id === id)

  test("an event is sent as the page shows, with a signature that the library of Standard Webhooks verifies", async () => {
    const { secret } = await create()
    const userId = await createUser()
    await until(() => receiver.received.length === 1)
    const [received] = receiver.received as [Receiver["received"][0]]
    receiver.verify(received, secret)
    expect(() => receiver.verify({ ...received, text: `${received.text} ` }, secret)).toThrow()
    const page = readFileSync(new URL("../../docs/webhooks.md", import.meta.url), "utf8")
    const shown = JSON.parse(/```json\n(.*?)```/s.exec(page)?.[1] as string)
    expect(received.body).toEqual({
      type: shown.type,
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      data: { tenant: shown.data.tenant, sequence: expect.any(Number), user_id: userId },
    })
    expect(Object.keys(received.body.data)).toEqual(Object.keys(shown.data))
  })

  test("only the kinds that it asks for are sent, with the user as it is then", async () => {
    await create({ kinds: [EventKind.USER_UPDATED], includeUser: true })
    const id = await createUser("ada@example.com")
    const paths = ["name"]
    await authwire.client.users.updateUser({ id, name: "Countess", updateMask: { paths } })
    await until(() => receiver.received.length === 1)
    expect(receiver.received.map(({ body }) => [body.type, body.data.user])).toEqual([
      ["user.updated", { id, email: "ada@example.com", email_verified: null, name: "Countess", image: null }],
    ])
  })

  test("a delivery that fails holds up those of its user and no others, and is sent again with the same id", async () => {
    const { id } = await create()
    const failing = await createUser()
    await until(() => receiver.received.length === 1)
    let fails = true
    receiver.answer = ({ body }) => ({ status: fails && body.data.user_id === failing ? 500 : 204 })
    const change = (user: string, name: string) =>
      authwire.client.users.updateUser({ id: user, name, updateMask: { paths: ["name"] } })
    for (const name of ["one", "two"]) await change(failing, name)
    const other = await createUser()
    const sent = (user: string) => receiver.received.filter(({ body }) => body.data.user_id === user)
    await until(() => sent(other).length === 1)
    await until(async () => (await deliveries(id)).some(({ status }) => status === 500))
    fails = false
    const failed = (await deliveries(id)).filter(({ pending }) => pending)
    expect(failed.map(({ attempts, status, userId }) => [attempts, status, userId])).toEqual([
      [0, undefined, failing],
      [1, 500, failing],
    ])
    // The first pause is 5 s, at most.
    await until(() => sent(failing).length === 4, 20_000)
    const [, first, again, second] = sent(failing).map((one) => [one.id, one.body.data.sequence])
    expect(again).toEqual(first)
    expect(Number(second?.[1])).toBe(Number(first?.[1]) + 1)
    await until(async () => (await deliveries(id)).every(({ pending }) => !pending))
  })

  test("410 disables a webhook; enabled again it sends what has waited, and what was written meanwhile", async () => {
    const { id } = await create()
    receiver.answer = () => ({ status: 410 })
    await createUser()
    await until(async () => (await find(id))?.disableReason === WebhookDisableReason.GONE)
    await createUser()
    receiver.answer = () => ({ status: 200 })
    expect(receiver.received).toHaveLength(1)
    const updateMask = { paths: ["disabled"] }
    const { webhook } = await authwire.client.webhooks.updateWebhook({ id, disabled: false, updateMask })
    expect([webhook?.disableTime, webhook?.disableReason]).toEqual([undefined, WebhookDisableReason.UNSPECIFIED])
    await until(() => receiver.received.length === 3)
    expect(new Set(receiver.received.map((one) => one.id)).size).toBe(2)
  })

  test("a receiver that asks for a pause gets nothing more before it is over", async () => {
    const { id } = await create()
    receiver.answer = () => ({ status: 429, headers: { "retry-after": "3600" } })
    await createUser()
    await until(async () => (await deliveries(id))[0]?.attempts === 1)
    await createUser()
    await until(async () => (await deliveries(id)).length === 2)
    const [later, first] = await deliveries(id)
    expect(later?.attempts).toBe(0)
    const pause = Number(first?.nextAttemptTime?.seconds) - Number(first?.lastAttemptTime?.seconds)
    expect(pause).toBeGreaterThanOrEqual(3599)
  })

  test("a test waits for no delivery that fails", async () => {
    const { id } = await create({ kinds: [EventKind.SESSION_POLICY_UPDATED] })
    receiver.answer = ({ body }) => ({ status: body.type === "webhook.test" ? 200 : 500 })
    const paths = ["max_age"]
    await authwire.client.sessionPolicies.updateSessionPolicy({ maxAge: { seconds: 86_400n }, updateMask: { paths } })
    await until(async () => (await deliveries(id))[0]?.attempts === 1)
    await authwire.client.webhooks.sendTest({ id })
    await until(() => receiver.received.at(-1)?.body.type === "webhook.test", 4_000)
  })

  test("a test is sent at once, and any delivery again; a new secret signs beside the old one", async () => {
    const { id, secret } = await create()
    const { delivery } = await authwire.client.webhooks.sendTest({ id })
    await until(() => receiver.received.length === 1)
    expect(receiver.received[0]).toMatchObject({ id: delivery?.id, body: { type: "webhook.test" } })
    const { secret: newer, webhook } = await authwire.client.webhooks.rotateSecret({ id })
    expect(webhook?.previousSecretExpireTime).toBeDefined()
    await until(async () => (await deliveries(id))[0]?.pending === false)
    await authwire.client.webhooks.redeliver({ id: delivery?.id as string })
    await until(() => receiver.received.length === 2)
    const again = receiver.received[1] as Receiver["received"][0]
    expect(again.id).toBe(delivery?.id)
    for (const one of [secret, newer]) receiver.verify(again, one)
    await authwire.client.webhooks.rotateSecret({ id, overlap: { seconds: 0n } })
    await authwire.client.webhooks.redeliver({ id: delivery?.id as string })
    await until(() => receiver.received.length === 3)
    for (const one of [secret, newer])
      expect(() => receiver.verify(receiver.received[2] as Receiver["received"][0], one)).toThrow()
  })

  test("what does not exist is not there; an address that is private is refused, with the field", async () => {
    const { webhooks } = authwire.client
    const id = "0".repeat(32)
    expect((await webhooks.updateWebhook({ id, name: "n", updateMask: { paths: ["name"] } })).webhook).toBeUndefined()
    expect((await webhooks.deleteWebhook({ id })).webhook).toBeUndefined()
    expect(await webhooks.rotateSecret({ id })).toMatchObject({ secret: "" })
    expect((await webhooks.sendTest({ id })).delivery).toBeUndefined()
    expect((await webhooks.redeliver({ id: `msg_${id}_1` })).delivery).toBeUndefined()
    expect((await webhooks.redeliver({ id: "x" })).delivery).toBeUndefined()
    expect((await webhooks.listDeliveries({ webhookId: id })).deliveries).toEqual([])
    const violation = { field: "url", description: expect.stringMatching(/^must not be a private address/) }
    const refused = { reason: "INVALID_FIELD", fieldViolations: [violation] }
    await expect(webhooks.createWebhook({ name: "n", url: "https://10.0.0.1/" })).rejects.toMatchObject(refused)
    const { id: mine } = await create()
    const moved = { id: mine, url: "https://[::ffff:10.0.0.1]/", updateMask: { paths: ["url"] } }
    await expect(webhooks.updateWebhook(moved)).rejects.toMatchObject(refused)
    const blank = { id: mine, updateMask: { paths: ["name"] } }
    await expect(webhooks.updateWebhook(blank)).rejects.toMatchObject({ reason: "INVALID_FIELD" })
  })

  test("a tenant has at most 20", async () => {
    for (let n = 0; n < 20; n++) await create()
    await expect(create()).rejects.toMatchObject({ fieldViolations: [{ field: "name" }] })
  })
})
