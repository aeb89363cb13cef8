// Measures the CPU time that the service and its caller need for a call, in about half a minute for each database. Unlike
// the duration of a call, this figure hardly depends on what else the machine does. Needs a build.
//
//   node bench/cpu.ts [--calls 10000] [--transport pipeline|unary] [URL of an empty database]…
//
// Without a URL it uses a new SQLite file, and removes it.

import { randomUUID } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { authwirePipeline, authwireUnary } from "./contenders/authwire.ts"
import { closedLoop } from "./load/closed-loop.ts"
import { randomNumbers } from "./load/statistics.ts"
import { table } from "./report/markdown.ts"
import { startAuthwire } from "./servers/processes.ts"

const { values, positionals } = parseArgs({
  options: {
    calls: { type: "string", default: "10000" },
    transport: { type: "string", default: "pipeline" },
  },
  allowPositionals: true,
})
const calls = Number(values.calls)
if (!(calls >= 1)) throw new Error("--calls: must be at least 1")
if (!["pipeline", "unary"].includes(values.transport)) throw new Error("--transport: pipeline or unary")
const open = values.transport === "pipeline" ? authwirePipeline : authwireUnary

const sessions = 1_000
const expires = new Date("2036-01-01T00:00:00Z")
const folder = mkdtempSync(join(tmpdir(), "authwire-cpu-"))
process.once("exit", () => rmSync(folder, { recursive: true, force: true }))
const rows: string[][] = []
for (const url of positionals.length > 0 ? positionals : [`sqlite:${join(folder, "cpu.db")}`]) await measure(url)
process.stdout.write(`CPU in milliseconds for 1,000 calls, ${values.transport}:\n\n`)
process.stdout.write(`${table(["", "service", "caller", "calls/s"], rows)}\n`)

async function measure(url: string): Promise<void> {
  const server = await startAuthwire(url, { args: ["--migrate"] })
  const { adapter, close } = open(server.endpoints)
  try {
    const random = randomNumbers(1)
    const userId = randomUUID()
    await adapter.createUser?.({ id: userId, email: `${userId}@example.com`, emailVerified: null })
    const createSession = async () => adapter.createSession?.({ sessionToken: randomUUID(), userId, expires })
    const tokens = Array.from({ length: sessions }, () => randomUUID())
    for (const sessionToken of tokens) await adapter.createSession?.({ sessionToken, userId, expires })
    const getSessionAndUser = async () => {
      const found = await adapter.getSessionAndUser?.(tokens[Math.floor(random() * sessions)] as string)
      if (found == null) throw new Error("a lookup finds nothing")
    }
    for (const [name, call] of Object.entries({ getSessionAndUser, createSession })) {
      const run = async (callers: number, count: number) =>
        closedLoop({
          ...{ call, callers },
          warmUpMs: 0,
          windowMs: Number.POSITIVE_INFINITY,
          calls: count,
          pids: [server.pid],
        })
      await run(32, calls)
      for (const callers of [1, 32]) {
        const { clientCpu, serverCpu, throughput } = await run(callers, calls)
        const milliseconds = [serverCpu[0] ?? Number.NaN, clientCpu].map((seconds) => (seconds * 100).toFixed(0))
        const title = `${new URL(url).protocol.slice(0, -1)}, ${name}, ${callers} at a time`
        rows.push([title, ...milliseconds, throughput.toFixed(0)])
      }
    }
  } finally {
    await close()
    await server.stop()
  }
}
