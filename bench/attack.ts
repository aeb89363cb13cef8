// Attacks a server in ways that no legitimate client would use, and observes its memory and health meanwhile. Writes
// bench/results/attack.json and its section of bench/results.md. Fails if the server does not withstand an attack.
//
//   node bench/attack.ts [--seconds 60] [--after 35] [--connections 10] [--memory 512] [--only WORDS] [--dry]
//
// The server's memory is limited to `--memory` MiB, as in a small container, if this process may create a cgroup.

import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as delay } from "node:timers/promises"
import { parseArgs } from "node:util"
import { getUserRequest, header, paths } from "@authwire/test-support/attack/requests.js"
import { attackConnection, endOf } from "@authwire/test-support/attack/streams.js"
import { staticKey } from "@authwire/test-support/processes/server.js"
import { readMachineFacts } from "./facts.ts"
import { type AttackTarget, attacks } from "./load/attacks.ts"
import { startChild } from "./load/child.ts"
import { residentBytes } from "./load/cpu.ts"
import { memoryGroup } from "./load/memory-group.ts"
import type { AttackRequest, AttackSight } from "./load/sides/attack-side.ts"
import type { HealthSight } from "./load/sides/health-side.ts"
import { attackReport, holds } from "./report/attack.ts"
import { writeSection } from "./report/markdown.ts"
import { type AttackFigure, type AttackResults, resultsFolder, trialFolder, writeResults } from "./results.ts"
import { apiKey, apiKeyEntry } from "./servers/key.ts"
import { startAuthwire } from "./servers/processes.ts"

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    after: { type: "string", default: "35" },
    connections: { type: "string", default: "10" },
    memory: { type: "string", default: "512" },
    only: { type: "string", default: "" },
    dry: { type: "boolean", default: false },
  },
})
const [seconds, afterSeconds, connections] = [Number(values.seconds), Number(values.after), Number(values.connections)]
const sampleMs = 250
/**
 * The growth of memory in bytes at which the attack ends and the server has failed. It leaves the machine enough
 * memory.
 */
const tooManyBytes = 1.5 * 2 ** 30
const warmUpCalls = 20_000
const reader = staticKey(["users:read"])
const largeUser = "large"

const group = memoryGroup(Number(values.memory) * 2 ** 20)
const memoryMib = group === undefined ? undefined : Number(values.memory)
const results: AttackResults = { facts: readMachineFacts(), memoryMib, seconds, connections, afterSeconds, attacks: [] }
for (const [index, { name, hasKey }] of attacks.entries()) {
  if (!name.includes(values.only)) continue
  const figure = { name, hasKey, ...(await attack(index)) }
  results.attacks.push(figure)
  process.stderr.write(`${JSON.stringify(figure)}\n`)
}
group?.remove()
const report = attackReport(results)
process.stdout.write(`${report}\n`)
writeResults("attack", results, values.dry ? trialFolder : resultsFolder)
if (!values.dry) writeSection("bench/attack.ts", report)
process.exitCode = results.attacks.every(holds) ? 0 : 1

async function attack(index: number): Promise<Omit<AttackFigure, "name" | "hasKey">> {
  const folder = mkdtempSync(join(tmpdir(), "authwire-attack-"))
  const removeFolder = () => rmSync(folder, { recursive: true, force: true })
  process.once("exit", removeFolder)
  const start = () =>
    startAuthwire(`sqlite:${join(folder, "attack.db")}`, {
      args: ["--migrate", "--shutdown-grace-ms=0"],
      env: {
        AUTHWIRE_API_KEYS: JSON.stringify([...JSON.parse(apiKeyEntry), reader.entry]),
        // The default of the service. startAuthwire sets a higher limit.
        AUTHWIRE_RATE_LIMIT: "20000",
      },
    })
  const server = await (group === undefined ? start() : group.within(start))
  const { grpcUrl = "", httpUrl = "" } = server.endpoints
  const target: AttackTarget = { grpcUrl, httpUrl, key: reader.text, largeUser }
  const memory = () => residentBytes(server.pid) ?? 0
  try {
    await warmUp(target)
    // Keeps the garbage collections of the watcher short. Otherwise they would be counted as the server's response
    // time.
    const nodeArgs = ["--max-semi-space-size=1"]
    const watcher = await startChild("health-side.ts", [grpcUrl, httpUrl], { nodeArgs })
    const attacker = await startChild("attack-side.ts", [], { nodeArgs, nice: 10 })
    const ask = (request: AttackRequest) => attacker.ask(request) as Promise<AttackSight>
    await delay(3_000)
    await watcher.ask({})
    const idleBytes = memory()
    let peakBytes = idleBytes
    const look = setInterval(() => {
      peakBytes = Math.max(peakBytes, memory())
    }, sampleMs)
    const begunAt = performance.now()
    const goneSeconds = () => (performance.now() - begunAt) / 1_000
    await ask({ do: "begin", attack: index, target, connections })
    while (goneSeconds() < seconds && peakBytes - idleBytes < tooManyBytes) await delay(sampleMs)
    const wasSeconds = Math.round(goneSeconds())
    const { begun } = await ask({ do: "stop" })
    const health = (await watcher.ask({})) as HealthSight
    await delay(afterSeconds * 1_000)
    const { left } = await ask({ do: "look" })
    clearInterval(look)
    await attacker.stop()
    await watcher.stop()
    return { seconds: wasSeconds, begun, idleBytes, peakBytes, health, left }
  } finally {
    await server.stop()
    process.off("exit", removeFolder)
    removeFolder()
  }
}

/** Creates the user, and sends calls until the process has allocated what it needs for ordinary work. */
async function warmUp({ grpcUrl, httpUrl, key }: AttackTarget): Promise<void> {
  const created = await fetch(`${httpUrl}/authwire.v1.UserService/CreateUser`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
    body: JSON.stringify({ id: largeUser, image: "x".repeat(256 * 1024) }),
  })
  if (!created.ok) throw new Error(`the user could not be made: ${created.status}`)
  for (const url of [grpcUrl, httpUrl]) {
    const connection = attackConnection(url)
    for (let calls = 0; calls < warmUpCalls; calls += 20) {
      const batch = Array.from({ length: 20 }, () =>
        endOf(connection.open(header(paths.getUser, { key }), getUserRequest("nobody"))),
      )
      await Promise.all(batch)
    }
    connection.close()
  }
}
