// Offers a server many times the calls that it can answer, watches it meanwhile, and writes bench/results/flood.json and
// its section of docs/performance.md. Needs what bench/wire.ts needs.
//
//   node bench/flood.ts [--seconds 60] [--times 20] [--users 10000] [--dry]

import { fork, spawnSync } from "node:child_process"
import { once } from "node:events"
import { getPriority, setPriority } from "node:os"
import { setTimeout as delay } from "node:timers/promises"
import { parseArgs } from "node:util"
import { openMysqlServer } from "./data/mysql-server.ts"
import { readFacts } from "./facts.ts"
import { cpuSeconds, residentBytes } from "./load/cpu.ts"
import type { FloodRequest } from "./load/flood-side.ts"
import { type Probe, seen, watched } from "./load/probes.ts"
import { type Sent, type Way, ways } from "./load/ways.ts"
import { floodReport } from "./report/flood.ts"
import { writeSection } from "./report/markdown.ts"
import { type FloodResults, resultsFolder, trialFolder, writeResults } from "./results.ts"
import { openStage } from "./sections/stage.ts"
import { startAuthwire } from "./servers/processes.ts"

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    times: { type: "string", default: "20" },
    users: { type: "string", default: "10000" },
    ways: { type: "string", default: ways.join() },
    dry: { type: "boolean", default: false },
  },
})
const [seconds, times, users] = [Number(values.seconds), Number(values.times), Number(values.users)]
/** How the calls are offered, as shares; most come as an attacker would send them who has read the schema. */
const shares: Record<Way, number> = { pipeline: 0.9, unary: 0.05, connect: 0.05 }
const quietMs = 20_000
const afterMs = 5_000
const senders = 2

const mysql = await openMysqlServer(0)
const stage = openStage(mysql, (text) => process.stderr.write(`${text}\n`))
const database = await stage.database("authwire", users)
const server = await startAuthwire(database.url)
// The thread of the server that answers has a core of its own; the senders share the other one, behind whoever else wants
// it: MySQL, and the threads that collect garbage.
const pinned = pin(server.pid, "0", "-pc")
const { grpcUrl = "", httpUrl = "" } = server.places
try {
  const flood = await Promise.all(Array.from({ length: senders }, () => startChild("flood-side.ts", true)))
  // Beside the senders its own collections took 40 ms, which it would have told of as the service's time: little at a time.
  const watcher = await startChild("probe-side.ts", false, ["--max-semi-space-size=1"])
  const first = flood[0] as (typeof flood)[number]

  const sustainable = {} as Record<Way, number>
  for (const way of ways) {
    const ms = 3_000
    const request: FloodRequest = { do: "closed", way, callers: 32, ms }
    const sent = ((await first.ask(request)) as Record<Way, Sent>)[way]
    sustainable[way] = Math.round((sent.ok * 1000) / ms)
    stage.say(`sustainable, ${way}: ${sustainable[way]} calls/s, p99 ${sent.okP99.toFixed(1)} ms`)
  }
  // Everything has run for a while by now.
  await delay(1_000)
  await watcher.ask({})
  await delay(quietMs)
  const quiet = (await watcher.ask({})) as Probe[]

  const offered = times * sustainable.pipeline
  const perSecond = Object.fromEntries(
    ways.map((way) => [way, values.ways.includes(way) ? Math.round((offered * shares[way]) / senders) : 0]),
  ) as Record<Way, number>
  const rss: FloodResults["rss"] = []
  const begun = performance.now()
  const cpuBefore = cpuSeconds(server.pid) ?? 0
  const look = setInterval(() => {
    rss.push({ seconds: Math.round((performance.now() - begun) / 100) / 10, bytes: residentBytes(server.pid) ?? 0 })
  }, 1_000)
  const sent = (await Promise.all(
    flood.map((sender) => sender.ask({ do: "open", perSecond, ms: seconds * 1000 })),
  )) as Record<Way, Sent>[]
  const serverCpu = ((cpuSeconds(server.pid) ?? 0) - cpuBefore) / ((performance.now() - begun) / 1000)
  const ended = performance.timeOrigin + performance.now()
  await delay(afterMs)
  clearInterval(look)
  const probes = (await watcher.ask({})) as Probe[]
  for (const child of [...flood, watcher]) child.disconnect()

  const results: FloodResults = {
    facts: readFacts(mysql),
    ...{ seconds, times, pinned, offered, sustainable, serverCpu, rss },
    sent: sum(sent),
    seen: Object.fromEntries(watched.map((what) => [what, seen(what, quiet, probes, ended)])) as FloodResults["seen"],
  }
  const report = floodReport(results)
  process.stdout.write(`${report}\n`)
  writeResults("flood", results, values.dry ? trialFolder : resultsFolder)
  if (!values.dry) writeSection("bench/flood.ts", report)
} finally {
  await server.stop()
  await database.cleanUp()
  await mysql.close()
}

/** The senders' counts, and the worse of their times. */
function sum(parts: Record<Way, Sent>[]): Record<Way, Sent> {
  const of = (way: Way, name: keyof Sent) => parts.map((part) => part[way][name])
  const whole = (way: Way): Sent => {
    const names = Object.keys(parts[0]?.[way] ?? {}) as (keyof Sent)[]
    return Object.fromEntries(
      names.map((name) => [
        name,
        /P\d/.test(name) ? Math.max(...of(way, name)) : of(way, name).reduce((sum, value) => sum + value, 0),
      ]),
    ) as unknown as Sent
  }
  return Object.fromEntries(ways.map((way) => [way, whole(way)])) as Record<Way, Sent>
}

/** Keeps a process on a core: all of it, or with `-pc` only its first thread. */
function pin(pid: number, core: string, how: "-apc" | "-pc" = "-apc"): boolean {
  return spawnSync("taskset", [how, core, String(pid)]).status === 0
}

async function startChild(script: string, nice: boolean, nodeArgs: readonly string[] = []) {
  const child = fork(new URL(`./load/${script}`, import.meta.url), [grpcUrl, httpUrl, String(users)], {
    execArgv: ["--disable-warning=ExperimentalWarning", ...nodeArgs],
    env: { ...process.env, NODE_ENV: "production", NODE_OPTIONS: "" },
    serialization: "advanced",
  })
  pin(child.pid as number, "1")
  if (nice) setPriority(child.pid as number, Math.min(getPriority() + 10, 19))
  const ended = once(child, "exit").then(() => {
    throw new Error(`${script} ended`)
  })
  ended.catch(() => {})
  const answer = async () => (await Promise.race([once(child, "message"), ended]))[0] as unknown
  await answer()
  return {
    ask(request: object) {
      child.send(request)
      return answer()
    },
    disconnect: () => child.disconnect(),
  }
}
