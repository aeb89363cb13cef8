// Offers a server many times the calls that it can answer, once with a valid API key and once with an invalid one.
// Meanwhile an application with another key measures the effects. Writes bench/results/flood.json and its section of
// bench/results.md. Needs what bench/wire.ts needs.
//
//   node bench/flood.ts [--seconds 60] [--times 20] [--users 10000] [--memory 768] [--dry]
//
// The service's memory is limited to `--memory` MiB, as in the Helm chart, if this process may create a cgroup. Node
// then limits its heap accordingly. With 0 there is no limit.

import { parseArgs } from "node:util"
import { staticKey } from "@authwire/test-support/processes/server.js"
import { openMysqlServer } from "./data/mysql-server.ts"
import { readFacts } from "./facts.ts"
import { startChild } from "./load/child.ts"
import { effectsOf } from "./load/effects.ts"
import { memoryGroup } from "./load/memory-group.ts"
import { type Way, ways } from "./load/probes.ts"
import type { FloodRequest, Sent } from "./load/sides/flood-side.ts"
import { startSide } from "./load/sides/start-side.ts"
import { floodReport } from "./report/flood.ts"
import { writeSection } from "./report/markdown.ts"
import { type FloodFigure, type FloodResults, resultsFolder, trialFolder, writeResults } from "./results.ts"
import { openStage } from "./sections/stage.ts"
import { apiKeyEntry } from "./servers/key.ts"
import { type ServerProcess, startAuthwire } from "./servers/processes.ts"

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    times: { type: "string", default: "20" },
    users: { type: "string", default: "10000" },
    memory: { type: "string", default: "768" },
    dry: { type: "boolean", default: false },
  },
})
const [seconds, times, users] = [Number(values.seconds), Number(values.times), Number(values.users)]
/**
 * The shares of the ways in which calls are offered. Most use the pipeline, as an attacker who knows the schema would.
 */
const shares: Record<Way, number> = { pipeline: 0.9, unary: 0.05, connect: 0.05 }
const senders = 2
const [known, unknown] = [staticKey(["all"]), staticKey(["all"])]
const env = { AUTHWIRE_API_KEYS: JSON.stringify([...JSON.parse(apiKeyEntry), known.entry]) }

const memory = Number(values.memory)
const group = memory === 0 ? undefined : memoryGroup(memory * 2 ** 20)
const memoryMib = group === undefined ? undefined : memory

const mysql = await openMysqlServer()
const stage = openStage(mysql)
try {
  const database = await stage.database("authwire", users)
  const start = () => startAuthwire(database.url, { env })
  const server = await (group === undefined ? start() : group.within(start))
  const sustainable = await sustainableCalls(server)
  stage.say(`sustainable: ${sustainable} calls/s`)
  const offered = times * sustainable
  const floods = [await flood(server, known.text, offered), await flood(server, unknown.text, offered)]
  await server.stop()
  group?.remove()
  const results: FloodResults = { facts: readFacts(mysql), memoryMib, seconds, times, offered, sustainable, floods }
  const report = floodReport(results)
  process.stdout.write(`${report}\n`)
  writeResults("flood", results, values.dry ? trialFolder : resultsFolder)
  if (!values.dry) writeSection("bench/flood.ts", report)
} finally {
  await stage.clear()
  await mysql.close()
}

async function sustainableCalls({ endpoints }: ServerProcess): Promise<number> {
  const side = await startSide("authwire-pipeline", endpoints, [])
  const load = { operation: "getSessionAndUser", users, callers: 32, seed: 1 } as const
  const { throughput } = await side.measure({ ...load, warmUpMs: 2_000, windowMs: 3_000 })
  await side.stop()
  return Math.round(throughput)
}

async function flood(server: ServerProcess, key: string, offered: number): Promise<FloodFigure> {
  const { grpcUrl = "", httpUrl = "" } = server.endpoints
  const args = [grpcUrl, httpUrl, String(users), key]
  const sides = await Promise.all(
    Array.from({ length: senders }, () => startChild("flood-side.ts", args, { nice: 10 })),
  )
  const perSecond = recordOf((way) => Math.round((offered * shares[way]) / senders))
  const request: FloodRequest = { perSecond, ms: seconds * 1000 }
  const { sent, effects } = await effectsOf(
    server,
    users,
    async () => (await Promise.all(sides.map((side) => side.ask(request)))) as Record<Way, Sent>[],
  )
  for (const side of sides) await side.stop()
  return {
    isKeyKnown: key === known.text,
    sent: recordOf((way) => sum(sent.map((part) => part[way]))),
    ...effects,
  }
}

function recordOf<T>(of: (way: Way) => T): Record<Way, T> {
  return Object.fromEntries(ways.map((way) => [way, of(way)])) as Record<Way, T>
}

/** Adds the senders' counts, and takes the larger of their percentiles. */
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
