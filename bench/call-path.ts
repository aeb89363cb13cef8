// Lists the functions of this project that one warm `getSessionAndUser` of the adapter enters, in the client and in the
// server, and how often. An async function or a generator counts again (x2) each time it resumes. Work of the batch,
// the log and the stream on behalf of the call counts too. Work that the processes do on their own does not count.
//
//   node bench/call-path.ts mysql://root@127.0.0.1:3306/test     after `make build bench-install`; migrates the database

import { randomUUID } from "node:crypto"
import { readFileSync } from "node:fs"
import type inspector from "node:inspector"
import { setTimeout as delay } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { AuthwireAdapter } from "@authwire/client"
import { freePort } from "@authwire/test-support/machine/free-port.js"
import { inspectOn, openInspector } from "./servers/inspector.ts"
import { apiKey } from "./servers/key.ts"
import { startAuthwire } from "./servers/processes.ts"

const [databaseUrl = ""] = process.argv.slice(2)
const warmUps = 2_000
/** The number of sampled calls. The median counts, so that functions entered by a timer of the process are left out. */
const samples = 15

/**
 * Returns how often each function was entered since the last call, by file, offset and name. The server evaluates its
 * source text, so it must not refer to anything outside of itself.
 */
function entered(root: string): Record<string, number> {
  const { Session } = process.getBuiltinModule("node:inspector")
  const kept: typeof globalThis & { coverage?: inspector.Session } = globalThis
  if (kept.coverage === undefined) {
    kept.coverage = new Session()
    kept.coverage.connect()
    kept.coverage.post("Profiler.enable")
    kept.coverage.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false })
  }
  const counts: Record<string, number> = {}
  kept.coverage.post("Profiler.takePreciseCoverage", (_: unknown, { result }) => {
    for (const { url, functions } of result) {
      if (!/\/(?:client|server|token)\/dist\/|\/gen\/ts\//.test(url)) continue
      for (const { functionName, ranges } of functions) {
        const [{ count, startOffset } = { count: 0, startOffset: 0 }] = ranges
        if (count > 0 && startOffset > 0) counts[`${url.replace(root, "")}\t${startOffset}\t${functionName}`] = count
      }
    }
  })
  return counts
}

const root = new URL("..", import.meta.url).href
const port = await freePort()
const server = await startAuthwire(databaseUrl, { args: ["--migrate"], nodeArgs: inspectOn(port) })
const remote = await openInspector(port)
const processes = {
  client: async () => entered(root),
  server: () => remote.evaluate<Record<string, number>>(`(${entered})(${JSON.stringify(root)})`),
}
const adapter = AuthwireAdapter({ url: server.endpoints.grpcUrl ?? "", apiKey })
const sessionToken = randomUUID()
const user = await adapter.createUser({ id: randomUUID(), email: `${sessionToken}@example.com`, emailVerified: null })
await adapter.createSession({ sessionToken, userId: user.id, expires: new Date(Date.now() + 3_600_000) })
for (let call = 0; call < warmUps; call++) await adapter.getSessionAndUser(sessionToken)

let [files, functions, entries] = [0, 0, 0]
const seen = { client: [] as Record<string, number>[], server: [] as Record<string, number>[] }
for (let sample = 0; sample < samples; sample++) {
  await Promise.all([processes.client(), processes.server()])
  await adapter.getSessionAndUser(sessionToken)
  // Waits for the log entry and other work after the answer.
  await delay(20)
  seen.client.push(await processes.client())
  seen.server.push(await processes.server())
}
for (const [name, counts] of Object.entries(seen)) {
  const byFile = Map.groupBy(new Set(counts.flatMap(Object.keys)), (key) => key.split("\t")[0] ?? "")
  for (const [file, keys] of [...byFile].toSorted(([a], [b]) => a.localeCompare(b))) {
    const source = readFileSync(fileURLToPath(root + file), "utf8")
    const usual = keys.flatMap((key) => {
      const count = counts.map((one) => one[key] ?? 0).toSorted((a, b) => a - b)[samples >> 1] ?? 0
      const [, offset, title] = key.split("\t")
      const line = source.slice(0, Number(offset)).split("\n").length
      return count === 0 ? [] : [{ count, text: (title || `line ${line}`) + (count > 1 ? ` x${count}` : "") }]
    })
    if (usual.length === 0) continue
    files++
    functions += usual.length
    for (const { count } of usual) entries += count
    process.stdout.write(`${name}\t${file}\t${usual.length}\t${usual.map(({ text }) => text).join(", ")}\n`)
  }
}
process.stdout.write(`${files} files, ${functions} functions, ${entries} entries\n`)
await adapter.deleteUser(user.id)
remote.close()
await server.stop()
