// Measures the search for users through the proxy of the console beside the same calls without it, and how long
// `authwire console` takes to start: `node bench/console.ts [URL]` after `make build bench-install`. Without a URL, SQLite
// in a temporary folder. The database of the URL is migrated and filled.
//
//   node bench/console.ts [URL] [--users 100000] [--searches 2000] [--starts 11] [--dry]
import { spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { ListUsersRequestSchema, ListUsersResponseSchema } from "@authwire/proto"
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf"
import { startConsole } from "../console/dist/server/console.js"
import { applyMigrations, openSqlStore } from "../server/dist/store/sql/index.js"
import { readMachineFacts } from "./facts.ts"
import { median, openTimes, randomNumbers } from "./load/statistics.ts"
import { count, machineText, short, table, writeSection } from "./report/markdown.ts"
import { apiKey } from "./servers/key.ts"
import { startAuthwire } from "./servers/processes.ts"

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    users: { type: "string", default: "100000" },
    searches: { type: "string", default: "2000" },
    starts: { type: "string", default: "11" },
    /** Prints only, without changing bench/results.md. */
    dry: { type: "boolean", default: false },
  },
})
const [users, searches, starts] = [values.users, values.searches, values.starts].map(Number) as [number, number, number]
const folder = mkdtempSync(join(tmpdir(), "authwire-bench-"))
const [url = `sqlite:${folder}/users.db`] = positionals

/** An address that begins with letters, so that many others begin as it does. */
const addressOf = (n: number) => `${((n * 7919) % 0xff_ffff).toString(36).padStart(5, "a")}.${n}@example.com`

/** What the page asks for when somebody has typed the beginning of an address, or of a name, which begins no address. */
const requestsOf = {
  "an address": (typed: string) => [{ pageSize: 50, emailPrefix: typed }],
  "a name": (typed: string) => [
    { pageSize: 50, emailPrefix: typed },
    { pageSize: 50, namePrefix: typed },
  ],
}

async function fill(): Promise<void> {
  const store = await openSqlStore({ url, encryptionKeys: [Buffer.alloc(32, "a key of the bench")] })
  await applyMigrations(store.database)
  const left = Array.from({ length: users }, (_, n) => n).values()
  const writer = async () => {
    for (const n of left)
      await store.users.create(
        { tenant: "default" },
        { id: `u${n}`, email: addressOf(n), name: `User ${n}`, extra: {} },
      )
  }
  await Promise.all(Array.from({ length: 64 }, writer))
  await store.close()
}

/** Starts the command and returns the milliseconds until it has printed the address of the console. */
async function startOfCommand(service: string): Promise<number> {
  const begun = performance.now()
  const command = fileURLToPath(new URL("../server/bin/authwire.js", import.meta.url))
  const child = spawn(process.execPath, [command, "console", `--url=${service}`, "--console-port=0"], {
    env: { ...process.env, AUTHWIRE_API_KEY: apiKey, NODE_OPTIONS: "" },
    stdio: ["ignore", "pipe", "inherit"],
  })
  for await (const _ of child.stdout) break
  const ms = performance.now() - begun
  child.kill()
  return ms
}

/** A caller of ListUsers, as the page is one. */
function lister(address: string, headers: Record<string, string>) {
  return async (request: MessageInitShape<typeof ListUsersRequestSchema>) => {
    const answer = await fetch(`${address}/authwire.v1.UserService/ListUsers`, {
      method: "POST",
      headers: { "content-type": "application/proto", "connect-protocol-version": "1", ...headers },
      body: toBinary(ListUsersRequestSchema, create(ListUsersRequestSchema, request)) as Uint8Array<ArrayBuffer>,
    })
    if (!answer.ok) throw new Error(`ListUsers: ${answer.status} ${await answer.text()}`)
    return fromBinary(ListUsersResponseSchema, new Uint8Array(await answer.arrayBuffer())).users
  }
}

/** Opens a console, and returns the headers that its page sends. */
async function openConsole(service: string) {
  let address = ""
  const opened = await startConsole({ service, apiKey, onAddress: (printed) => (address = printed) })
  const { headers } = await fetch(address, { redirect: "manual" })
  const cookie = headers.getSetCookie()[0]?.split(";")[0] ?? ""
  const page = headers.get("location")?.split("=")[1] ?? ""
  return { opened, headers: { cookie, "x-console-page": page } }
}

try {
  await fill()
  const server = await startAuthwire(url, { args: ["--cleanup-interval=0"] })
  const service = server.endpoints.httpUrl ?? ""
  const { opened, headers } = await openConsole(service)
  const sides = {
    "the RPC itself": lister(service, { authorization: `Bearer ${apiKey}` }),
    "through the console": lister(`${opened.url}/rpc`, headers),
  }
  const random = randomNumbers(1)
  const begun = (text: string) => text.slice(0, 1 + Math.floor(random() * text.length))
  const times = new Map<string, ReturnType<typeof openTimes>>()
  for (let search = -100; search < searches; search++) {
    const n = Math.floor(random() * users)
    const typed = { "an address": begun(addressOf(n)), "a name": `User ${begun(String(n))}` }
    for (const [what, requests] of Object.entries(requestsOf)) {
      for (const [side, list] of Object.entries(sides)) {
        const start = performance.now()
        let found: unknown[] = []
        for (const request of requests(typed[what as keyof typeof typed])) found = await list(request)
        const name = `${what}, ${side}`
        const its = times.get(name) ?? openTimes()
        times.set(name, its)
        // The first hundred are the warm-up.
        if (search >= 0) its.add(performance.now() - start)
        if (found.length === 0) throw new Error("a search found nobody")
      }
    }
  }
  const started: number[] = []
  for (let start = 0; start < starts; start++) started.push(await startOfCommand(service))
  await opened.close()
  await server.stop()

  const rows = [...times].map(([name, { percentile }]) => [
    name,
    short(percentile(50)),
    short(percentile(95)),
    short(percentile(99)),
  ])
  const report = [
    `${machineText(readMachineFacts())}; ${count(users)} users in ${new URL(url).protocol.slice(0, -1)}, on the same machine.`,
    `${count(searches)} searches one after another, each with both in turn, for the beginning of an address or of a name, in ms:`,
    table(["", "p50", "p95", "p99"], rows),
    `\`authwire console\` printed its address ${Math.round(median(started))} ms after its start (median of ${starts}).`,
  ].join("\n\n")
  process.stdout.write(`${report}\n`)
  if (!values.dry) writeSection("bench/console.ts", report)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
