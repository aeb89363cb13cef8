// Tests whether acknowledged sign-ins survive failures. Callers sign users in over two replicas of the service. Every
// ten seconds one of these faults is injected (`--trouble`):
//
//   kill      A replica, or the member of the database that it uses, is killed (SIGKILL) and started again, in turn.
//   restart   As in an upgrade, the members are stopped and started one by one, each is made the primary, and the
//             replicas are restarted. No call may fail after the client's own retries.
//   pause     The member in use is frozen (SIGSTOP) for ten seconds.
//
// At the end every member is compared with the writes that the callers recorded. Nothing may be lost or exist twice.
//
//   node bench/failover.ts --own postgres       # a server started for the run (or mysql, mariadb); supports only kill
//   node bench/failover.ts --database-url mysql://root@h1:3306,h2:3306,h3:3306/test \
//     --command "…/cluster {action} {n}"   # action: kill, stop, rejoin, pause, resume; n: the number of the host in the URL
//     [--trouble kill] [--sign-ins 10000] [--callers 50] [--per-second 80] [--every 10] [--read-url mysql://…]
//
// The database of the URL must be empty. With --read-url users are listed continuously, and the longest time without a
// successful list is printed. Exits with 1 if anything was lost, duplicated, wrong or given up.

import { setTimeout as delay } from "node:timers/promises"
import { parseArgs } from "node:util"
import type { ServerEngine } from "@authwire/test-support/databases/servers.js"
import { applicationClient, caller, type Record } from "./failover/caller.ts"
import { compare } from "./failover/compare.ts"
import { clusterAt, ownServer } from "./failover/database.ts"
import { type Replica, startReplicas } from "./failover/replica.ts"

const { values } = parseArgs({
  options: {
    own: { type: "string" },
    "database-url": { type: "string" },
    "read-url": { type: "string" },
    command: { type: "string" },
    trouble: { type: "string", default: "kill" },
    "sign-ins": { type: "string", default: "10000" },
    callers: { type: "string", default: "50" },
    "per-second": { type: "string", default: "80" },
    every: { type: "string", default: "10" },
  },
})
const { own, "database-url": url, command, "read-url": readUrl } = values
const [total, callers, perSecond] = [values["sign-ins"], values.callers, values["per-second"]].map(Number) as [
  number,
  number,
  number,
]
const everyMs = Number(values.every) * 1000
const troubles = { kill: killInTurn, restart: restartAll, pause: pauseInTurn }
const bringTrouble = troubles[values.trouble as keyof typeof troubles]
if (bringTrouble === undefined || !(own || (url && command))) throw new Error("see the comment of this file")

const maxElectionMs = 60_000
const say = (text: string) => process.stdout.write(`${text}\n`)

const database = own === undefined ? clusterAt(url as string, command as string) : await ownServer(own as ServerEngine)
const replicas = await startReplicas(2, { databaseUrl: database.url, readUrl })
const client = applicationClient(replicas)
const record: Record = { signIns: [], writes: [], retried: new Map(), failed: [], wrong: [], longestCallMs: 0 }

let begun = 0
let isTroubleOver = false
let isCallingOver = false
const start = Date.now()
const isOver = () => begun >= total && (values.trouble !== "restart" || isTroubleOver)
const calling = Array.from({ length: callers }, async () => {
  const one = caller(client, record)
  while (!isOver()) {
    const due = start + (begun++ / perSecond) * 1000
    await delay(Math.max(0, due - Date.now()))
    // The failure is already recorded.
    await one.signIn().catch(() => {})
  }
})
const listing = readUrl === undefined ? undefined : listAgainAndAgain()
const trouble = bringTrouble().finally(() => {
  isTroubleOver = true
})
await Promise.all(calling)
const seconds = (Date.now() - start) / 1000
await trouble
isCallingOver = true
await listing
client.close()
for (const replica of replicas) await replica.end("SIGTERM")

const compared = await Promise.all(database.urls.map((one) => compare(one, record.signIns, record.writes.length)))
const problems = [...compared.flat(), ...record.wrong, ...record.failed]
say(`${record.signIns.length} sign-ins in ${seconds.toFixed(0)} s, ${record.writes.length} acknowledged writes`)
const retried = [...record.retried].map(([what, count]) => `\n  ${count} ${what}`)
say(`calls that failed and were made again: ${retried.join("") || "none"}`)
say(`longest call, with its repetitions: ${record.longestCallMs.toFixed(0)} ms`)
say(problems.length === 0 ? "nothing lost, nothing twice, nothing given up" : problems.slice(0, 20).join("\n"))
await database.close()
process.exit(problems.length === 0 && (values.trouble !== "restart" || retried.length === 0) ? 0 : 1)

/** Kills in turn: a replica, the member that it uses, the other replica, the member that this one uses, and so on. */
async function killInTurn(): Promise<void> {
  for (let turn = 0; ; turn++) {
    await delay(everyMs)
    if (isOver()) return
    const replica = replicas[(turn >> 1) % replicas.length] as Replica
    if (turn % 2 === 0) {
      await replica.end("SIGKILL")
      await replica.start()
      sayGap("killed a replica", Date.now() - everyMs)
    } else await killMember(database.numberOf(replica.member()))
  }
}

async function killMember(number: number): Promise<void> {
  // The wait is needed because a member that returns before the group has noticed its absence delays the election.
  const electing = database.electedBeside(number, AbortSignal.timeout(maxElectionMs)).catch(() => Number.NaN)
  const killed = Date.now()
  await database.run("kill", number)
  if (database.urls.length > 1) await Promise.all([electing, delay(everyMs)])
  await database.run("rejoin", number)
  const elected = (await electing) - killed
  sayGap(`killed member ${number}`, killed, Number.isNaN(elected) ? "" : `; a new primary after ${elected} ms`)
}

/** Restarts the members one by one, moves the role of the primary, then restarts the replicas, as in an upgrade. */
async function restartAll(): Promise<void> {
  const numbers = database.urls.map((_, index) => index + 1)
  for (const number of numbers) {
    await delay(everyMs)
    const stopped = Date.now()
    await database.run("stop", number)
    await database.run("rejoin", number)
    await delay(everyMs)
    sayGap(`restarted member ${number}`, stopped)
  }
  for (const number of numbers) {
    const switched = Date.now()
    if (!(await database.makePrimary(number))) break
    await delay(everyMs)
    sayGap(`made member ${number} the primary`, switched)
  }
  for (const replica of replicas) {
    const stopped = Date.now()
    await replica.end("SIGTERM")
    await replica.start()
    await delay(everyMs)
    sayGap("restarted a replica", stopped)
  }
}

async function pauseInTurn(): Promise<void> {
  for (let turn = 0; ; turn++) {
    await delay(everyMs)
    if (isOver()) return
    const number = database.numberOf(replicas[turn % replicas.length]?.member())
    const paused = Date.now()
    await database.run("pause", number)
    await delay(everyMs)
    await database.run("resume", number)
    sayGap(`froze member ${number} for ${Date.now() - paused} ms`, paused)
  }
}

/**
 * Lists users through the read URL, where data may be slightly outdated. Prints the longest time without a successful
 * list.
 */
async function listAgainAndAgain(): Promise<void> {
  let [lists, longestMs, last] = [0, 0, Date.now()]
  const failures = new Map<string, number>()
  while (!isCallingOver) {
    try {
      await client.users.listUsers({ pageSize: 1 })
      longestMs = Math.max(longestMs, Date.now() - last)
      last = Date.now()
      lists++
    } catch (error) {
      failures.set(String(error), (failures.get(String(error)) ?? 0) + 1)
    }
    await delay(20)
  }
  const failed = [...failures].map(([what, count]) => `, ${count} failed by ${what}`).join("")
  say(`${lists} lists of users by --database-read-url${failed}; the longest time without one: ${longestMs} ms`)
}

/**
 * Prints the longest time since a moment without an acknowledged write, and the number of calls that have failed by
 * then.
 */
function sayGap(what: string, since: number, more = ""): void {
  const times = [since, ...record.writes.filter((time) => time >= since), Date.now()]
  const gap = Math.max(...times.slice(1).map((time, index) => time - (times[index] as number)))
  const failed = [...record.retried.values()].reduce((sum, count) => sum + count, 0)
  say(`${what}: no write acknowledged for ${gap} ms${more}; ${failed} calls failed so far`)
}
