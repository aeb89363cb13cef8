// Runs a server and a client for a long time, measures their heaps, and cancels many calls. Writes
// bench/results/soak.json and its section of bench/results.md. Needs what bench/wire.ts needs.
//
//   node bench/soak.ts [--minutes 10] [--callers 32] [--cancelled 100000] [--users 10000] [--dry]

import { setTimeout as delay } from "node:timers/promises"
import { parseArgs } from "node:util"
import { freePort } from "@authwire/test-support/machine/free-port.js"
import { openMysqlServer } from "./data/mysql-server.ts"
import { readFacts } from "./facts.ts"
import { type Side, startSide } from "./load/sides/start-side.ts"
import { writeSection } from "./report/markdown.ts"
import { soakReport } from "./report/soak.ts"
import { resultsFolder, type SoakResults, trialFolder, writeResults } from "./results.ts"
import { openStage } from "./sections/stage.ts"
import { type Inspector, inspectOn, openInspector } from "./servers/inspector.ts"
import { startAuthwire } from "./servers/processes.ts"

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    callers: { type: "string", default: "32" },
    cancelled: { type: "string", default: "100000" },
    users: { type: "string", default: "10000" },
    dry: { type: "boolean", default: false },
  },
})
const [minutes, callers, cancelled] = [Number(values.minutes), Number(values.callers), Number(values.cancelled)]
const users = Number(values.users)
/** One sample every five seconds. Each stops both processes for a moment. */
const samples = Math.max(10, Math.round(minutes * 12))
const settleMs = 5_000
const [serverPort, clientPort] = [await freePort(), await freePort()]

const mysql = await openMysqlServer()
const stage = openStage(mysql)
try {
  const database = await stage.database("authwire", users)
  const server = await startAuthwire(database.url, { nodeArgs: inspectOn(serverPort) })
  const side = await startSide("authwire-pipeline", server.endpoints, [], inspectOn(clientPort))
  const inspectors = { server: await openInspector(serverPort), client: await openInspector(clientPort) }
  const results: SoakResults = {
    facts: readFacts(mysql),
    minutes,
    ...(await soak(side, inspectors)),
    cancelled: await cancel(side, inspectors),
  }
  inspectors.server.close()
  inspectors.client.close()
  await side.stop()
  await server.stop()

  writeResults("soak", results, values.dry ? trialFolder : resultsFolder)
  const report = soakReport(results)
  process.stdout.write(`${report}\n`)
  if (!values.dry) writeSection("bench/soak.ts", report)
} finally {
  await stage.clear()
  await mysql.close()
}

type Both = { server: Inspector; client: Inspector }

async function soak(side: Side, { server, client }: Both): Promise<Pick<SoakResults, "calls" | "samples">> {
  const begun = performance.now()
  const window = side.measure({
    ...{ operation: "everything mixed", users, callers, seed: 1, warmUpMs: 0, windowMs: minutes * 60_000 },
  })
  const taken: SoakResults["samples"] = []
  for (let sample = 1; sample <= samples; sample++) {
    const wait = begun + (sample * minutes * 60_000) / samples - performance.now()
    // If a call fails, this ends at once.
    await Promise.race([delay(Math.max(0, wait)), window])
    const [held, own] = [await server.memory(), await client.memory()]
    const seconds = Math.round((performance.now() - begun) / 100) / 10
    taken.push({ seconds, server: held.heapUsed, serverRss: held.rss, client: own.heapUsed })
    if (sample % Math.ceil(samples / 10) === 0) stage.say(`heap ${held.heapUsed}`)
  }
  return { calls: (await window).calls, samples: taken }
}

async function cancel(side: Side, { server, client }: Both): Promise<SoakResults["cancelled"]> {
  const run = (calls: number) =>
    side.measure({
      ...{ operation: "cancelled calls", users, callers: 64, seed: 2, warmUpMs: 0, windowMs: 600_000, calls },
    })
  const look = async () => {
    // Waits, because statements of cancelled calls are still answered, and timeouts are still pending.
    await delay(settleMs)
    const held = async (inspector: Inspector) => {
      const { heapUsed, handles } = await inspector.memory()
      return { heapUsed, handles }
    }
    return { server: await held(server), client: await held(client) }
  }
  // A first run, because one-time allocations for cancelled calls do not count as a leak.
  await run(Math.min(2_000, cancelled))
  const before = await look()
  await run(cancelled)
  const after = await look()
  const sides = { server: { before: before.server, after: after.server } }
  return { calls: cancelled, ...sides, client: { before: before.client, after: after.client } }
}
