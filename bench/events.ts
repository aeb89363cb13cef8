// Measures how much events add to the cost of the store's writes: `node bench/events.ts URL [--pid N]` after `make
// build`. The database of the URL is migrated and filled. With the pid of its server, the server's CPU time is printed
// too.
import { randomUUID } from "node:crypto"
import { readFileSync } from "node:fs"
import { parseArgs } from "node:util"
import { applyMigrations, openSqlStore, type SqlStore } from "../server/dist/store/sql/index.js"

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    operation: { type: "string" },
    pid: { type: "string" },
    rounds: { type: "string", default: "4" },
    calls: { type: "string", default: "2000" },
  },
})
const [url = "mysql://root@127.0.0.1:3306/test"] = positionals
const target = url.split(":", 1)[0]
const [rounds, calls] = [Number(values.rounds), Number(values.calls)]
const caller = { tenant: "default" }
const encryptionKeys = [Buffer.alloc(32, "a key of the bench")]

/** Returns the CPU time of the database in milliseconds. A tick is a hundredth of a second. */
function databaseCpu(): number {
  if (values.pid === undefined) return Number.NaN
  const fields = readFileSync(`/proc/${values.pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? []
  return (Number(fields[11]) + Number(fields[12])) * 10
}

const open = (eventsKeepMs: number) => openSqlStore({ url, encryptionKeys, eventsKeepMs, poolSize: 16 })
const stores = { without: await open(0), with: await open(86_400_000) }
await applyMigrations(stores.without.database)
const users = Array.from({ length: 256 }, () => ({ id: randomUUID(), extra: {} }))
for (const user of users) await stores.without.users.create(caller, user)
const userOf = (n: number) => (users[n % users.length] as (typeof users)[0]).id

const expires = new Date(Date.now() + 86_400_000)
const operations: Record<string, (store: SqlStore, n: number) => Promise<unknown>> = {
  createSession: ({ sessions }, n) =>
    sessions.create(caller, { sessionToken: randomUUID(), userId: userOf(n), expires, extra: {} }),
  updateUser: (store, n) => store.users.update(caller, userOf(n), { name: randomUUID() }),
}

interface Sums {
  calls: number
  ms: number
  cpu: number
  databaseCpu: number
}

async function measure(
  store: SqlStore,
  work: (store: SqlStore, n: number) => Promise<unknown>,
  callers: number,
): Promise<Sums> {
  const count = callers === 1 ? Math.ceil(calls / 4) : calls
  let next = 0
  const [begun, cpu, ofDatabase] = [performance.now(), process.cpuUsage(), databaseCpu()]
  await Promise.all(
    Array.from({ length: callers }, async () => {
      while (next < count) await work(store, next++)
    }),
  )
  const { user, system } = process.cpuUsage(cpu)
  return {
    calls: count,
    ms: performance.now() - begun,
    cpu: (user + system) / 1000,
    databaseCpu: databaseCpu() - ofDatabase,
  }
}

for (const [name, work] of Object.entries(operations)) {
  if (values.operation !== undefined && values.operation !== name) continue
  for (const callers of [1, 32]) {
    const sums = { without: [] as Sums[], with: [] as Sums[] }
    for (const store of Object.values(stores)) await measure(store, work, callers)
    for (let round = 0; round < rounds; round++) {
      for (const kind of ["without", "with"] as const) sums[kind].push(await measure(stores[kind], work, callers))
    }
    for (const kind of ["without", "with"] as const) {
      const total = (field: keyof Sums) => sums[kind].reduce((sum, one) => sum + one[field], 0)
      const perCall = (field: keyof Sums) => (total(field) / total("calls")).toFixed(3)
      const best = Math.max(...sums[kind].map((one) => (one.calls / one.ms) * 1000))
      process.stdout.write(
        `${target} ${name} ${callers} callers ${kind} events: best round ${best.toFixed(0)} calls/s, mean ${((total("calls") / total("ms")) * 1000).toFixed(0)}; CPU ${perCall("cpu")} ms a call here, ${perCall("databaseCpu")} ms in the database\n`,
      )
    }
  }
}
// Measures the assignment of sequences to the events.
const [row] = await stores.with.database.withQueryRunner((runner) =>
  runner.query("SELECT COUNT(*) AS count FROM events WHERE sequence IS NULL"),
)
const waiting = Number(row.count)
const [begun, cpu, ofDatabase] = [performance.now(), process.cpuUsage(), databaseCpu()]
await stores.with.events.sequence(caller)
const { user, system } = process.cpuUsage(cpu)
const perEvent = (ms: number) => ((ms * 1000) / waiting).toFixed(1)
process.stdout.write(
  `${target} sequences of ${waiting} events: ${perEvent(performance.now() - begun)} µs an event, CPU ${perEvent((user + system) / 1000)} µs here, ${perEvent(databaseCpu() - ofDatabase)} µs in the database\n`,
)
for (const store of Object.values(stores)) await store.close()
