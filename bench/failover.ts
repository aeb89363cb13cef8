// Does a sign-in that was acknowledged survive whatever is killed? Callers sign people in over two replicas of the service
// while the replicas and the members of the database are killed (SIGKILL) in turn, or restarted one by one (`--rolling`).
// At the end every member is compared with what the callers noted: nothing may be lost, and nothing may be there twice. It
// starts no database: it is given one, and a command that kills, stops and starts its members.
//
//   node bench/failover.ts --database-url mysql://root@h1:3306,h2:3306,h3:3306/test \
//     --command "…/cluster {action} {n}"   # action: kill, stop, rejoin; n: the number of the host in the URL
//     [--sign-ins 10000] [--callers 50] [--per-second 80] [--every 10] [--rolling]
//
// The database of the URL must be empty. Exits with 1 when something was lost, doubled, wrong or given up.

import { setTimeout as delay } from "node:timers/promises"
import { parseArgs } from "node:util"
import { caller, type Record } from "./failover/caller.ts"
import { members } from "./failover/database.ts"
import { type Replica, startReplica } from "./failover/replica.ts"

const { values } = parseArgs({
  options: {
    "database-url": { type: "string" },
    command: { type: "string" },
    "sign-ins": { type: "string", default: "10000" },
    callers: { type: "string", default: "50" },
    "per-second": { type: "string", default: "80" },
    every: { type: "string", default: "10" },
    rolling: { type: "boolean", default: false },
  },
})
const { "database-url": url, command, rolling } = values
if (!url || !command) throw new Error("--database-url and --command are required: see the comment of this file")
const [total, callers, perSecond, everySeconds] = [
  values["sign-ins"],
  values.callers,
  values["per-second"],
  values.every,
].map(Number) as [number, number, number, number]

const [, before, hosts, after] = /^(mysql:\/\/(?:[^/]*@)?)([^/]*)(\/.*)$/.exec(url) ?? []
const database = members(
  (hosts ?? "").split(",").map((host) => `${before}${host}${after}`),
  command,
)
const replicas = [await startReplica(url), await startReplica(url)] as const
const record: Record = { signIns: [], writes: [], retried: new Map(), failed: [], wrong: [], longestCallMs: 0 }
const say = (text: string) => process.stdout.write(`${text}\n`)

const maxElectionMs = 60_000
let begun = 0
const start = Date.now()
const isOver = () => begun >= total
const calling = Array.from({ length: callers }, async () => {
  const one = caller(
    replicas.map((replica) => replica.url),
    record,
  )
  while (!isOver()) {
    const due = start + (begun++ / perSecond) * 1000
    await delay(Math.max(0, due - Date.now()))
    // It is noted.
    await one.signIn().catch(() => {})
  }
  one.close()
})
const trouble = rolling ? restartAll() : killInTurn()
await Promise.all(calling)
const seconds = (Date.now() - start) / 1000
await trouble
for (const replica of replicas) await replica.end("SIGTERM")

const problems = [...(await database.compare(record.signIns)), ...record.wrong, ...record.failed]
say(`${record.signIns.length} sign-ins in ${seconds.toFixed(0)} s, ${record.writes.length} acknowledged writes`)
say(`calls made again: ${[...record.retried].map(([what, count]) => `${what} ${count}`).join(", ") || "none"}`)
say(`longest call, with its repetitions: ${record.longestCallMs.toFixed(0)} ms`)
say(problems.length === 0 ? "nothing lost, nothing twice, nothing given up" : problems.slice(0, 20).join("\n"))
process.exit(problems.length === 0 ? 0 : 1)

/** A replica, the member that it uses, the other replica, the member that this one uses, and so on. */
async function killInTurn(): Promise<void> {
  for (let turn = 0; ; turn++) {
    await delay(everySeconds * 1000)
    if (isOver()) return
    const replica = replicas[(turn >> 1) % 2] as Replica
    if (turn % 2 === 0) {
      await replica.end("SIGKILL")
      await replica.start()
      say(`killed a replica: no write acknowledged for ${longestGap(Date.now() - everySeconds * 1000)} ms`)
    } else await killMember(database.numberOf(replica.member()))
  }
}

async function killMember(number: number): Promise<void> {
  // A member that comes back before the group has noticed that it is gone holds the election up.
  const electing = database.electedBeside(number, AbortSignal.timeout(maxElectionMs)).catch(() => Number.NaN)
  const killed = Date.now()
  await database.run("kill", number)
  if (database.count > 1) await Promise.all([electing, delay(everySeconds * 1000)])
  await database.run("rejoin", number)
  const elected = (await electing) - killed
  const gap = longestGap(killed)
  const relative = Number.isNaN(elected) ? "" : `; a new primary after ${elected} ms`
  say(`killed member ${number}: no write acknowledged for ${gap} ms${relative}`)
}

/** The members one by one, then the replicas: what an upgrade does. */
async function restartAll(): Promise<void> {
  for (let number = 1; number <= database.count; number++) {
    const stopped = Date.now()
    await database.run("stop", number)
    await database.run("rejoin", number)
    await delay(everySeconds * 1000)
    say(`restarted member ${number}: no write acknowledged for ${longestGap(stopped)} ms`)
  }
  for (const replica of replicas) {
    const stopped = Date.now()
    await replica.end("SIGTERM")
    await replica.start()
    await delay(1000)
    say(`restarted a replica: no write acknowledged for ${longestGap(stopped)} ms`)
  }
}

/** The longest time since a moment in which no write was acknowledged. */
function longestGap(since: number): number {
  const times = [since, ...record.writes.filter((time) => time >= since), Date.now()]
  return Math.max(...times.slice(1).map((time, index) => time - (times[index] as number)))
}
