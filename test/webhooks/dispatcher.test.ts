import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { newId, newUser, range } from "@authwire/test-support/store-contract/context.js"
import type { StoreDatabase } from "@authwire/test-support/store-contract/contract.js"
import { until } from "@authwire/test-support/until.js"
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals"
import { pino } from "pino"
import type { Store } from "../../server/src/store/store.js"
import type { AuditEntry } from "../../server/src/store/types.js"
import { type Dispatcher, startDispatcher } from "../../server/src/webhooks/dispatcher.js"
import { WebhookSender } from "../../server/src/webhooks/sender.js"
import { type Receiver, startReceiver } from "./receiver.js"

// The part of the service that sends, with a real store, and a real receiver.
describe("what sends webhooks", () => {
  let database: StoreDatabase
  let store: Store
  let dispatcher: Dispatcher | undefined
  const receivers: Receiver[] = []
  beforeEach(async () => {
    database = await createStoreDatabase("sqlite")
    store = await database.openStore({ eventsKeepMs: 86_400_000, clock: Date.now })
  })
  afterEach(async () => {
    jest.restoreAllMocks()
    for (const receiver of receivers.splice(0)) receiver.close()
    await dispatcher?.stop(5_000)
    await database.drop()
  })

  const start = (changed: Partial<Store> = {}, audit?: (entry: AuditEntry) => void) => {
    const sender = new WebhookSender({ dev: true, allowPrivate: [] })
    const log = pino({ level: "silent" })
    dispatcher = startDispatcher({
      store: { ...store, ...changed },
      sender,
      log,
      observer: undefined,
      audit,
    })
  }
  const caller = { tenant: "default" }
  const create = async (of = caller) => {
    const receiver = await startReceiver()
    receivers.push(receiver)
    const webhook = { name: "n", url: receiver.url, kinds: [], includeUser: false, created: new Date() }
    const { id } = await store.webhooks.create(of, { ...webhook, id: newId().replaceAll("-", "") }, newSecret())
    return { id, receiver }
  }
  const newSecret = () => `whsec_${Buffer.alloc(32).toString("base64")}`
  const usersOf = ({ received }: Receiver) => received.map(({ body }) => body.data.user_id)

  test("events of one user that are refused hold up no others, however many they are, and are sent when they are accepted", async () => {
    const { id, receiver } = await create()
    let refuses = true
    receiver.answer = ({ body }) => ({ status: refuses && body.data.user_id === "refused" ? 500 : 200 })
    await store.users.create(caller, newUser({ id: "refused" }))
    for (const n of range(1_100)) await store.users.update(caller, "refused", { name: String(n) })
    await store.users.create(caller, newUser({ id: "other" }))
    start()
    await until(() => usersOf(receiver).includes("other"), 20_000)
    refuses = false
    const numbers = () =>
      receiver.received.filter(({ body }) => body.data.user_id === "refused").map(({ id: one }) => one)
    const accepted = () => numbers().slice(numbers().lastIndexOf(`msg_${id}_1`))
    await until(() => accepted().length >= 50, 30_000)
    expect(accepted().slice(0, 50)).toEqual(range(50).map((n) => `msg_${id}_${n + 1}`))
  })

  test("a webhook whose receiver is gone is disabled once, with one entry of the audit, whatever else is being sent", async () => {
    const { id, receiver } = await create()
    const all = Promise.withResolvers<void>()
    receiver.answer = async () => {
      if (receiver.received.length === 5) all.resolve()
      await all.promise
      return { status: 410 }
    }
    for (const _ of range(5)) await store.users.create(caller, newUser())
    const entries: AuditEntry[] = []
    start({}, (entry) => void entries.push(entry))
    const attempted = async () => (await store.webhooks.pending(caller, id)).filter(({ attempts }) => attempts === 1)
    await until(async () => (await attempted()).length === 5)
    await dispatcher?.stop(5_000)
    const method = "authwire.v1.WebhookService/UpdateWebhook"
    const fields = { webhook_id: id, disable_reason: "gone" }
    expect(entries).toEqual([{ created: expect.any(Date), method, code: "OK", fields }])
    expect((await store.webhooks.page(caller, { size: 1 })).items[0]?.disableReason).toBe("gone")
  })

  test("nothing is sent by a process whose lease has ended while it waited for the database", async () => {
    const { receiver } = await create()
    const [asked, answers, renews] = [1, 2, 3].map(() => Promise.withResolvers<void>())
    let secrets = 0
    let renewals = 0
    start({
      webhooks: {
        ...store.webhooks,
        async secrets(...given) {
          if (++secrets > 1) return store.webhooks.secrets(...given)
          asked?.resolve()
          await answers?.promise
          return store.webhooks.secrets(...given)
        },
      },
      leases: {
        ...store.leases,
        async acquire(...given) {
          if (++renewals > 1) await renews?.promise
          return store.leases.acquire(...given)
        },
      },
    })
    await store.users.create(caller, newUser())
    await asked?.promise
    const now = performance.now.bind(performance)
    jest.spyOn(performance, "now").mockImplementation(() => now() + 15_000)
    await until(() => renewals === 2)
    answers?.resolve()
    await until(() => secrets === 1)
    renews?.resolve()
    await until(() => receiver.received.length === 1)
    // The second attempt, with a new lease, is the one that was sent.
    expect(secrets).toBe(2)
  })

  test("a receiver that asks for a long pause has at most 100,000 deliveries that wait", async () => {
    const paused = await create()
    const good = await create()
    paused.receiver.answer = () => ({ status: 429, headers: { "retry-after": "3600" } })
    start()
    await store.users.create(caller, newUser())
    const pending = async () =>
      Number(
        (
          await database.sql("SELECT COUNT(*) AS n FROM webhook_deliveries WHERE webhook_id = ? AND pending = 1", [
            paused.id,
          ])
        )[0]?.n,
      )
    await until(async () => (await store.webhooks.pending(caller, paused.id))[0]?.attempts === 1)
    const columns = "tenant, webhook_id, kind, created, pending, attempts, expires, user_id, next_attempt"
    await database.sql(
      `WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 100000)
      INSERT INTO webhook_deliveries (${columns}, number)
      SELECT ${columns}, n + 1000 FROM webhook_deliveries, numbers WHERE webhook_id = ?`,
      [paused.id],
    )
    await store.users.create(caller, newUser())
    await until(() => good.receiver.received.length === 2)
    expect(await pending()).toBe(100_001)
  })

  test("receivers that never answer leave other webhooks of their tenant a place", async () => {
    const hanging = await Promise.all(range(12).map(() => create()))
    for (const { receiver } of hanging) receiver.answer = () => new Promise<never>(() => {})
    for (const _ of range(40)) await store.users.create(caller, newUser())
    start()
    await until(() => hanging.every(({ receiver }) => receiver.received.length > 0))
    const { receiver } = await create()
    await store.users.create(caller, newUser())
    // Long before the first of the deliveries times out.
    await until(() => receiver.received.length === 1, 10_000)
  })

  test("a process that begins to send reads the deliveries of four webhooks at a time, so that calls have the database", async () => {
    const tenants = range(3).map((n) => ({ tenant: `t${n}` }))
    for (const { tenant } of tenants) await store.tenants.create({}, { name: tenant, created: new Date() })
    const webhooks = await Promise.all(tenants.flatMap((tenant) => range(20).map(() => create(tenant))))
    for (const tenant of tenants) await store.users.create(tenant, newUser())
    let active = 0
    let most = 0
    start({
      webhooks: {
        ...store.webhooks,
        async pending(...given) {
          most = Math.max(most, ++active)
          return store.webhooks.pending(...given).finally(() => active--)
        },
      },
    })
    await until(() => webhooks.every(({ receiver }) => receiver.received.length === 1), 30_000)
    expect(most).toBeLessThanOrEqual(4)
  })
})
