// Samples where the time of the server and of the client goes under load, and writes bench/results/profile.json, the flame
// graphs docs/performance/flame-*.svg and its section of docs/performance.md. Needs what bench/wire.ts needs.
//
//   node bench/profile.ts [--quick] [--dry]

import { mkdirSync, writeFileSync } from "node:fs"
import { contenders } from "./contenders/contenders.ts"
import { openMysqlServer } from "./data/mysql-server.ts"
import { readFacts } from "./facts.ts"
import { startSide } from "./load/sides.ts"
import { readOptions } from "./options.ts"
import { flameGraph } from "./report/flame-graph.ts"
import { foldProfile, sharesByFunction, sharesByGroup } from "./report/folded-profile.ts"
import { writeSection } from "./report/markdown.ts"
import { plotsFolder } from "./report/plots.ts"
import { profileReport } from "./report/profile.ts"
import { type ProfileResults, resultsFolder, trialFolder, writeResults } from "./results.ts"
import { openStage } from "./sections/stage.ts"
import { freePort, inspectOn, openInspector } from "./servers/inspector.ts"
import { startAuthwire } from "./servers/processes.ts"

const options = readOptions()
if (!options.has("profile")) process.exit()
const name = "authwire-pipeline"
const callers = 32
const [seconds, users] = options.quick ? [1, 1_000] : [10, 100_000]
/** Fine enough for functions that take microseconds, and rare enough not to matter. */
const sampleMicroseconds = 250

const mysql = await openMysqlServer(2 ** 30)
try {
  const stage = openStage(mysql, (text) => process.stderr.write(`${text}\n`))
  const database = await stage.database("authwire", users)
  // One after the other: a process that is sampled is slower.
  const server = await profile("server")
  const client = await profile("client")
  const results: ProfileResults = {
    facts: readFacts(mysql),
    ...{ callers, seconds },
    server: sharesByGroup(server).filter(visible),
    client: sharesByGroup(client).filter(visible),
    serverFunctions: sharesByFunction(server).slice(0, 25),
  }
  writeResults("profile", results, options.dry ? trialFolder : resultsFolder)
  const report = profileReport(results)
  process.stdout.write(`${report}\n`)
  if (!options.dry) writeSection("bench/profile.ts", report)

  async function profile(which: "server" | "client") {
    const port = await freePort()
    const server = await startAuthwire(database.url, { nodeArgs: which === "server" ? inspectOn(port) : [] })
    const side = await startSide(name, server.places, [], which === "client" ? inspectOn(port) : [])
    const inspector = await openInspector(port)
    const load = { operation: "getSessionAndUser", users, callers, seed: 1, batch: "", batchSize: 0 } as const
    await side.measure({ ...load, warmUpMs: 2_000, windowMs: 1_000 })
    const stop = await inspector.profile(sampleMicroseconds)
    await side.measure({ ...load, warmUpMs: 0, windowMs: seconds * 1000 })
    const sampled = await stop()
    inspector.close()
    await side.stop()
    await server.stop()
    const folder = options.dry ? trialFolder : plotsFolder
    const root = foldProfile(sampled)
    const title = `${contenders[name].title}: the ${which}, getSessionAndUser, ${callers} callers`
    mkdirSync(trialFolder, { recursive: true })
    mkdirSync(folder, { recursive: true })
    writeFileSync(new URL(`${which}.cpuprofile`, trialFolder), JSON.stringify(sampled))
    writeFileSync(new URL(`flame-${which}.svg`, folder), flameGraph(root, title))
    return root
  }
} finally {
  await mysql.close()
}

function visible({ share }: { share: number }): boolean {
  return share >= 0.002
}
