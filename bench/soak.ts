// Lets a server and a client work for a long time, watches their heaps, cancels many calls, and writes
// bench/results/soak.json and its section of docs/performance.md. Needs what bench/wire.ts needs.
//
//   node bench/soak.ts [--minutes 10] [--callers 32] [--cancelled 100000] [--users 10000] [--dry]

import { fork } from "node:child_process"
import { once } from "node:events"
import { setTimeout as delay } from "node:timers/promises"
import { parseArgs } from "node:util"
import { openMysqlServer } from "./data/mysql-server.ts"
import { readFacts } from "./facts.ts"
import type { SoakRequest } from "./load/soak-side.ts"
import { writeSection } from "./report/markdown.ts"
import { soakPlots, soakReport } from "./report/soak.ts"
import { type Held, resultsFolder, type SoakResults, trialFolder, writeResults } from "./results.ts"
import { openStage } from "./sections/stage.ts"
import { freePort, type Inspector, inspectOn, openInspector } from "./servers/inspector.ts"
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
/** One every five seconds: each stops both processes for a moment. */
const samples = Math.max(10, Math.round(minutes * 12))
const settleMs = 5_000
const [serverPort, clientPort] = [await freePort(), await freePort()]

const mysql = await openMysqlServer(0)
const stage = openStage(mysql, (text) => process.stderr.write(`${text}\n`))
const database = await stage.database("authwire", users)
const server = await startAuthwire(database.url, { nodeArgs: inspectOn(serverPort) })
try {
  const client = await startClient(server.places.grpcUrl ?? "")
  const serverInspector = await openInspector(serverPort)
  const clientInspector = await openInspector(clientPort)
  const results: SoakResults = {
    facts: readFacts(mysql),
    minutes,
    ...(await soak(client, serverInspector, clientInspector)),
    cancelled: await cancel(client, serverInspector, clientInspector),
  }
  serverInspector.close()
  clientInspector.close()
  client.disconnect()

  writeResults("soak", results, values.dry ? trialFolder : resultsFolder)
  const report = soakReport(results)
  process.stdout.write(`${report}\n`)
  if (!values.dry) {
    writeSection("bench/soak.ts", report)
    await soakPlots(results)
  }
} finally {
  await server.stop()
  await database.cleanUp()
  await mysql.close()
}

type Client = Awaited<ReturnType<typeof startClient>>

async function soak(client: Client, serverInspector: Inspector, clientInspector: Inspector) {
  await client.ask({ do: "load", users, callers })
  const begun = performance.now()
  const taken: SoakResults["samples"] = []
  for (let sample = 1; sample <= samples; sample++) {
    await delay(Math.max(0, begun + (sample * minutes * 60_000) / samples - performance.now()))
    const [held, own] = [await serverInspector.memory(), await clientInspector.memory()]
    const { calls, failures } = await clientInspector.evaluate<{ calls: number; failures: number }>("soakCounts")
    const seconds = Math.round((performance.now() - begun) / 100) / 10
    taken.push({ seconds, server: held.heapUsed, serverRss: held.rss, client: own.heapUsed, calls })
    if (sample % Math.ceil(samples / 10) === 0)
      stage.say(`${seconds} s: ${calls} calls, ${failures} failed, heap ${held.heapUsed}`)
  }
  const { calls, failures } = await client.ask({ do: "stop" })
  return { calls, failures, samples: taken }
}

async function cancel(client: Client, serverInspector: Inspector, clientInspector: Inspector) {
  // Once before: what the first cancelled calls make for good is not left by each.
  await client.ask({ do: "cancel", users, calls: Math.min(2_000, cancelled) })
  const look = async (inspector: Inspector): Promise<Held> => {
    // Statements that nobody waits for any more are still answered, and time-outs run out.
    await delay(settleMs)
    const { heapUsed, handles } = await inspector.memory()
    return { heapUsed, handles }
  }
  const before = { server: await look(serverInspector), client: await look(clientInspector) }
  await client.ask({ do: "cancel", users, calls: cancelled })
  const after = { server: await look(serverInspector), client: await look(clientInspector) }
  return {
    calls: cancelled,
    server: { before: before.server, after: after.server },
    client: { before: before.client, after: after.client },
  }
}

async function startClient(url: string) {
  const child = fork(new URL("./load/soak-side.ts", import.meta.url), [url], {
    execArgv: ["--disable-warning=ExperimentalWarning", ...inspectOn(clientPort)],
    env: { ...process.env, NODE_ENV: "production", NODE_OPTIONS: "" },
  })
  const ended = once(child, "exit").then(() => {
    throw new Error("the client ended")
  })
  ended.catch(() => {})
  type Counts = { calls: number; failures: number }
  const answer = async () => (await Promise.race([once(child, "message"), ended]))[0] as Counts
  await answer()
  return {
    ask(request: SoakRequest) {
      child.send(request)
      return answer()
    },
    disconnect: () => child.disconnect(),
  }
}
