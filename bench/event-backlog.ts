// Measures what the feed of events costs: a poll of 1 and of 384 tenants without news, in statements and CPU, and how long the first
// reader of a tenant waits after many events were written while nobody read: `node bench/event-backlog.ts URL` after `make build`.
// The database of the URL is migrated and filled.
import { randomUUID } from "node:crypto"
import { setTimeout as delay } from "node:timers/promises"
import { parseArgs } from "node:util"
import { eventFeed } from "../server/dist/events/feed.js"
import { applyMigrations, openSqlStore } from "../server/dist/store/sql/index.js"

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { events: { type: "string", default: "300000" }, seconds: { type: "string", default: "10" } },
})
const [url = "mysql://root@127.0.0.1:3306/test"] = positionals
const [events, seconds] = [Number(values.events), Number(values.seconds)]
const eventsAtOnce = 500

let statements = 0
const store = await openSqlStore({
  url,
  encryptionKeys: [Buffer.alloc(32, "a key of the bench")],
  eventsKeepMs: 86_400_000,
  observer: { waited() {}, connected() {}, lookedUp() {}, ran: () => void statements++ },
})
await applyMigrations(store.database)
const sql = (text: string) => store.database.withQueryRunner((runner) => runner.query(text))
const tenants = Array.from({ length: 384 }, () => randomUUID())
for (const name of tenants) await store.tenants.create({}, { name, created: new Date() })
const [tenant] = tenants as [string]

/** Measures the polls of tenants that nobody writes to. */
async function polls(watched: number): Promise<void> {
  let count = 0
  const feed = eventFeed({ events: store.events })
  const subscriptions = tenants
    .slice(0, watched)
    .map((tenant, n) => feed.subscribe({ tenant, onEvents: () => void (n === 0 && count++), onReset() {} }))
  await Promise.all(subscriptions.map(({ start }) => start))
  await delay(1_000)
  ;[count, statements] = [0, 0]
  const [cpu, begun] = [process.cpuUsage(), performance.now()]
  await delay(seconds * 1000)
  const { user, system } = process.cpuUsage(cpu)
  const passed = (performance.now() - begun) / 1000
  const perSecond = (value: number) => (value / passed).toFixed(1)
  process.stdout.write(
    `${watched} tenants watched: ${perSecond(count)} polls a second, ${perSecond(statements)} statements a second, CPU ${perSecond((user + system) / 1000)} ms a second here\n`,
  )
  await feed.stop()
}

for (const watched of [0, 1, 384]) await polls(watched)

const row = `('${tenant}', 'user.created', '${randomUUID()}', CURRENT_TIMESTAMP)`
for (let done = 0; done < events; done += eventsAtOnce)
  await sql(`INSERT INTO events (tenant, kind, user_id, created) VALUES ${Array(eventsAtOnce).fill(row).join(", ")}`)
const feed = eventFeed({ events: store.events })
const begun = performance.now()
await feed.subscribe({ tenant, onEvents() {}, onReset() {} }).start
const waited = ((performance.now() - begun) / 1000).toFixed(2)
process.stdout.write(`after ${events} events without a reader the first one waited ${waited} s\n`)
await feed.stop()
await store.close()
