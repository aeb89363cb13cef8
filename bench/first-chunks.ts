// Opens connections without an API key, each of which writes a thousand requests in its first bytes. Meanwhile an
// application with a key measures the effects. Writes its section of bench/results.md. Fails if a limit is exceeded.
//
//   node bench/first-chunks.ts [--seconds 60] [--per-second 5] [--only WORDS] [--dry]

import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { sessionsPerUser, sessionToken } from "./data/keys.ts"
import { readMachineFacts } from "./facts.ts"
import { startChild } from "./load/child.ts"
import { effectsOf } from "./load/effects.ts"
import { ways } from "./load/probes.ts"
import type { FirstChunk, FirstChunkRequest, FirstChunkSight } from "./load/sides/first-chunk-side.ts"
import { machineText, short, table, writeSection } from "./report/markdown.ts"
import { apiKey } from "./servers/key.ts"
import { type ServerProcess, startAuthwire } from "./servers/processes.ts"

const { values } = parseArgs({
  strict: false,
  options: {
    seconds: { type: "string", default: "60" },
    "per-second": { type: "string", default: "5" },
    only: { type: "string", default: "" },
    dry: { type: "boolean", default: false },
  },
})
const [seconds, perSecond] = [Number(values.seconds), Number(values["per-second"])]
/** The part of a core that the service may use, with the calls of the application, and how often the quiet p99 a call may take. */
const limits = { serverCpu: 0.3, p99Ratio: 3 }
const users = 100

const folder = mkdtempSync(join(tmpdir(), "authwire-first-chunks-"))
process.once("exit", () => rmSync(folder, { recursive: true, force: true }))
const server = await startAuthwire(`sqlite:${join(folder, "chunks.db")}`, { args: ["--migrate"] })
const rows: string[][] = []
try {
  await createSessions(server)
  for (const listener of ["gRPC", "HTTP"] as const)
    for (const chunk of ["requests", "requests that are reset"] as const)
      if (`${listener} ${chunk}`.includes(String(values.only))) rows.push(await measure(listener, chunk))
} finally {
  await server.stop()
}
const text = [
  `${machineText(readMachineFacts())}, SQLite.`,
  `${perSecond} connections a second for ${seconds} seconds, while an application makes 100 calls a second: the p99 of its ` +
    "calls in milliseconds, before and meanwhile. Limits: the service, with these calls, uses " +
    `${100 * limits.serverCpu} % of a core, and the p99 of no transport is more than ${limits.p99Ratio} times the one before.`,
  table(["", "connections", "bytes of each", "CPU of the service, %", ...ways, "failed calls", ""], rows),
].join("\n\n")
process.stdout.write(`${text}\n`)
if (values.dry !== true) writeSection("bench/first-chunks.ts", text)
process.exitCode = rows.every((row) => row.at(-1) === "within limits") ? 0 : 1

async function measure(listener: "gRPC" | "HTTP", chunk: FirstChunk): Promise<string[]> {
  const { grpcUrl = "", httpUrl = "" } = server.endpoints
  const attacker = await startChild("first-chunk-side.ts", [], { nice: 10 })
  const url = listener === "gRPC" ? grpcUrl : httpUrl
  const request: FirstChunkRequest = { url, chunk, perSecond, ms: seconds * 1000 }
  const { sent, effects } = await effectsOf(server, users, () => attacker.ask(request) as Promise<FirstChunkSight>)
  await attacker.stop()
  const failed = ways.reduce((sum, way) => sum + effects.seen[way].failed + effects.seen[way].rejected, 0)
  const isBounded = ways.every((way) => effects.seen[way].p99 <= limits.p99Ratio * effects.seen[way].quietP99)
  const holds = isBounded && failed === 0 && effects.serverCpu <= limits.serverCpu
  const row = [
    ...[`${listener}: ${chunk}`, String(sent.connections), String(sent.bytes), short(100 * effects.serverCpu)],
    ...ways.map((way) => `${short(effects.seen[way].quietP99)} → ${short(effects.seen[way].p99)}`),
    ...[String(failed), holds ? "within limits" : "**exceeded**"],
  ]
  process.stderr.write(`${row.join(" | ")}\n`)
  return row
}

/** Creates the sessions that the application looks up. */
async function createSessions({ endpoints }: ServerProcess): Promise<void> {
  const post = async (method: string, body: object) => {
    const url = `${endpoints.httpUrl}/authwire.v1.${method}`
    const headers = { "content-type": "application/json", authorization: `Bearer ${apiKey}` }
    const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) })
    if (!answer.ok) throw new Error(`${method}: ${await answer.text()}`)
  }
  await post("UserService/CreateUser", { id: "own" })
  for (let session = 0; session < users * sessionsPerUser; session++) {
    const expires = "2100-01-01T00:00:00Z"
    await post("SessionService/CreateSession", { sessionToken: sessionToken(session), userId: "own", expires })
  }
}
