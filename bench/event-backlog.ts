// Measures how long the first reader of events waits after many events were written while nobody read, with a feed that
// assigns sequences without readers and with one that does not: `node bench/event-backlog.ts URL` after `make build`.
// The database of the URL is migrated and filled. It also prints what the feed costs calls that write at that time.
import { randomUUID } from "node:crypto"
import { setTimeout as delay } from "node:timers/promises"
import { parseArgs } from "node:util"
import { eventFeed } from "../server/dist/events/feed.js"
import { applyMigrations, openSqlStore } from "../server/dist/store/sql/index.js"

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    events: { type: "string", default: "300000" },
    /** The number of events that are written in a second. */
    rate: { type: "string", default: "3000" },
    seconds: { type: "string", default: "20" },
  },
})
const [url = "mysql://root@127.0.0.1:3306/test"] = positionals
const [events, rate, seconds] = [Number(values.events), Number(values.rate), Number(values.seconds)]
const eventsAtOnce = 500
const caller = { tenant: "default" }
/** As `authwire serve` does it, and as a process without it. */
const idle = { with: 5_000, without: undefined }

const store = await openSqlStore({
  url,
  encryptionKeys: [Buffer.alloc(32, "a key of the bench")],
  eventsKeepMs: 86_400_000,
})
await applyMigrations(store.database)
const sql = (text: string) => store.database.withQueryRunner((runner) => runner.query(text))

/** Adds rows to the table of events, as many in a second as `rate`. */
async function writeEvents(): Promise<void> {
  const begun = performance.now()
  const row = `('default', 'user.created', '${randomUUID()}', CURRENT_TIMESTAMP)`
  for (let done = 0; done < events; done += eventsAtOnce) {
    await sql(`INSERT INTO events (tenant, kind, user_id, created) VALUES ${Array(eventsAtOnce).fill(row).join(", ")}`)
    await delay(Math.max(0, (done / rate) * 1000 - (performance.now() - begun)))
  }
}

/** Returns the number of users that eight callers create in a second. */
async function creations(): Promise<number> {
  const end = performance.now() + seconds * 1000
  let count = 0
  const calls = Array.from({ length: 8 }, async () => {
    for (; performance.now() < end; count++) await store.users.create(caller, { id: randomUUID(), extra: {} })
  })
  await Promise.all(calls)
  return count / seconds
}

for (const [name, idleMs] of Object.entries(idle)) {
  await store.events.sequence({})
  const feed = eventFeed({ events: store.events, idleMs })
  const perSecond = await creations()
  await writeEvents()
  const begun = performance.now()
  const [{ count }] = await sql("SELECT COUNT(*) AS count FROM events WHERE sequence IS NULL")
  const counted = performance.now()
  await feed.subscribe({ tenant: "default", onEvents() {}, onReset() {} }).start
  process.stdout.write(
    `${name} sequences while nobody reads: ${perSecond.toFixed(0)} users created a second; after ${events} more events ${count} had no sequence (counted in ${(counted - begun).toFixed(0)} ms), and the first reader waited ${((performance.now() - counted) / 1000).toFixed(2)} s\n`,
  )
  await feed.stop()
}
await store.close()
