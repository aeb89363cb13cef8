// Offers a server many times the calls that it can answer, watches it meanwhile, and writes bench/results/flood.json and
// its section of docs/performance.md. Needs what bench/wire.ts needs.
//
//   node bench/flood.ts [--seconds 60] [--times 20] [--users 10000] [--dry]

import { spawnSync } from "node:child_process"
import { setTimeout as delay } from "node:timers/promises"
import { parseArgs } from "node:util"
import { openMysqlServer } from "./data/mysql-server.ts"
import { readFacts } from "./facts.ts"
import { startChild } from "./load/child.ts"
import { cpuSeconds, residentBytes } from "./load/cpu.ts"
import type { FloodRequest, Sent } from "./load/flood-side.ts"
import { type Probe, seen, type Way, watched, ways } from "./load/probes.ts"
import { startSide } from "./load/start-side.ts"
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
    dry: { type: "boolean", default: false },
  },
})
const [seconds, times, users] = [Number(values.seconds), Number(values.times), Number(values.users)]
/** How the calls are offered, as shares; most come as an attacker would send them who has read the schema. */
const shares: Record<Way, number> = { pipeline: 0.9, unary: 0.05, connect: 0.05 }
const quietMs = 20_000
const afterMs = 5_000
const senders = 2

const mysql = await openMysqlServer()
const stage = openStage(mysql)
try {
  const database = await stage.database("authwire", users)
  const server = await startAuthwire(database.url)
  const { grpcUrl = "", httpUrl = "" } = server.places
  // The thread of the server that answers has a core of its own; the senders share the other one, behind whoever else wants
  // it: MySQL, and the threads that collect garbage.
  const pinned = pin(server.pid, "0", "-pc")

  const side = await startSide("authwire-pipeline", server.places, [])
  pin(side.pid, "1")
  const load = { operation: "getSessionAndUser", users, callers: 32, seed: 1 } as const
  const sustainable = Math.round((await side.measure({ ...load, warmUpMs: 2_000, windowMs: 3_000 })).throughput)
  stage.say(`sustainable: ${sustainable} calls/s`)
  await side.stop()

  const args = [grpcUrl, httpUrl, String(users)]
  const flood = await Promise.all(
    Array.from({ length: senders }, () => startChild("flood-side.ts", args, { nice: 10 })),
  )
  // Beside the senders its own collections took 40 ms, which it would have told of as the service's time: little at a time.
  const watcher = await startChild("probe-side.ts", args, { nodeArgs: ["--max-semi-space-size=1"] })
  for (const { pid } of [...flood, watcher]) pin(pid, "1")
  // Everything has run for a while by now.
  await delay(1_000)
  await watcher.ask({})
  await delay(quietMs)
  const quiet = (await watcher.ask({})) as Probe[]

  const offered = times * sustainable
  const perSecond = recordOf((way) => Math.round((offered * shares[way]) / senders))
  const rss: FloodResults["rss"] = []
  const begun = performance.now()
  const cpuBefore = cpuSeconds(server.pid) ?? 0
  const look = setInterval(() => {
    rss.push({ seconds: Math.round((performance.now() - begun) / 100) / 10, bytes: residentBytes(server.pid) ?? 0 })
  }, 1_000)
  const request: FloodRequest = { perSecond, ms: seconds * 1000 }
  const parts = (await Promise.all(flood.map((sender) => sender.ask(request)))) as Record<Way, Sent>[]
  const serverCpu = ((cpuSeconds(server.pid) ?? 0) - cpuBefore) / ((performance.now() - begun) / 1000)
  const ended = performance.timeOrigin + performance.now()
  await delay(afterMs)
  clearInterval(look)
  const probes = (await watcher.ask({})) as Probe[]
  for (const child of [...flood, watcher]) await child.stop()
  await server.stop()

  const results: FloodResults = {
    facts: readFacts(mysql),
    ...{ seconds, times, pinned, offered, sustainable, serverCpu, rss },
    sent: recordOf((way) => sum(parts.map((part) => part[way]))),
    seen: Object.fromEntries(watched.map((what) => [what, seen(what, quiet, probes, ended)])) as FloodResults["seen"],
  }
  const report = floodReport(results)
  process.stdout.write(`${report}\n`)
  writeResults("flood", results, values.dry ? trialFolder : resultsFolder)
  if (!values.dry) writeSection("bench/flood.ts", report)
} finally {
  await stage.clear()
  await mysql.close()
}

function recordOf<T>(of: (way: Way) => T): Record<Way, T> {
  return Object.fromEntries(ways.map((way) => [way, of(way)])) as Record<Way, T>
}

/** The senders' counts, and the worse of their times. */
function sum(parts: readonly Sent[]): Sent {
  const add = (name: string, values: number[]) =>
    /P\d/.test(name) ? Math.max(...values) : values.reduce((all, value) => all + value, 0)
  const names = Object.keys(parts[0] ?? {}) as (keyof Sent)[]
  return Object.fromEntries(
    names.map((name) => [
      name,
      add(
        name,
        parts.map((part) => part[name]),
      ),
    ]),
  ) as unknown as Sent
}

/** Keeps a process on a core: all of it, or with `-pc` only its first thread. */
function pin(pid: number, core: string, how: "-apc" | "-pc" = "-apc"): boolean {
  return spawnSync("taskset", [how, core, String(pid)]).status === 0
}
