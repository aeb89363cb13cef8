// Measures what one tenant's key costs another tenant, on SQLite and on MySQL or MariaDB. Prints the times of the other
// tenant's reads and writes while nobody else calls, and beside 100 callers of each costly list, count, export, deletion and watch, and
// of all together. The tenant has a user with very many expired sessions; three more have large users: with images of 256 KiB, with
// 64 KiB of small values, and with images of 4 MiB, which no call can write. Writes its section of bench/results.md.
//
//   node bench/shares.ts [--rows 300000] [--seconds 10] [--callers 100] [--only WORDS] [--databases sqlite,mysql] [--dry]

import { createHash, randomBytes } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { setTimeout as delay } from "node:timers/promises"
import { parseArgs } from "node:util"
import { EventService } from "@authwire/proto"
import { staticKey } from "@authwire/test-support/processes/server.js"
import { createClient } from "@connectrpc/connect"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { createConnection } from "mysql2/promise"
import { deepRecursion, openMysqlServer } from "./data/mysql-server.ts"
import { readMachineFacts } from "./facts.ts"
import { startChild } from "./load/child.ts"
import { healthQuestions } from "./load/health.ts"
import type { SharesCall, SharesRequest, SharesSight } from "./load/sides/shares-side.ts"
import { count, machineText, short, table, writeSection } from "./report/markdown.ts"
import { startAuthwire } from "./servers/processes.ts"

const { values } = parseArgs({
  strict: false,
  options: {
    rows: { type: "string", default: "300000" },
    seconds: { type: "string", default: "10" },
    callers: { type: "string", default: "100" },
    only: { type: "string", default: "" },
    databases: { type: "string", default: "sqlite,mysql" },
    dry: { type: "boolean", default: false },
  },
})
/** The number of sessions of each user that is deleted. */
const sessionsOfDeleted = 100
const [rows, seconds] = [Number(values.rows), Number(values.seconds)]
const callers = String(values.callers).split(",").map(Number)
/** The tenants of large users. */
const large = {
  images: staticKey(["all"], { tenant: "images" }),
  values: staticKey(["all"], { tenant: "values" }),
  both: staticKey(["all"], { tenant: "both" }),
  rows: staticKey(["all"], { tenant: "rows" }),
}
const loads: readonly (readonly [string, readonly SharesCall[], (keyof typeof large | undefined)?])[] = [
  ["ListSessions, active", ["listActive"]],
  ["ListSessions, of a provider", ["listByProvider"]],
  ["CountUsers", ["countUsers"]],
  ["ListAccountsByUser", ["listAccounts"]],
  ["ListUsers, page by page", ["exportUsers"]],
  ["DeleteUser", ["deleteUser"]],
  ["Watch, of many earlier events", ["watch"]],
  [
    "all together",
    ["listActive", "listByProvider", "countUsers", "listAccounts", "exportUsers", "deleteUser", "watch"],
  ],
  ["ListUsers, images of 256 KiB", ["listUsers"], "images"],
  ["BatchGetUsers, images of 256 KiB", ["batchGetUsers"], "images"],
  ["GetUser, images of 256 KiB", ["getLargeUser"], "images"],
  ["ListUsers, 64 KiB of small values", ["listUsers"], "values"],
  ["BatchGetUsers, 64 KiB of small values", ["batchGetUsers"], "values"],
  ["ListUsers as JSON, 64 KiB of small values", ["listUsersAsJson"], "values"],
  ["GetUser as JSON, 64 KiB of small values", ["getUserAsJson"], "values"],
  ["UpdateUser as JSON, 64 KiB of small values", ["updateUserAsJson"], "values"],
  ["UpdateUser, 64 KiB of small values", ["updateLargeUser"], "values"],
  ["ListUsers, largest of 320 KiB", ["listUsers"], "both"],
  ["BatchGetUsers, largest of 320 KiB", ["batchGetUsers"], "both"],
  ["GetUser, largest of 320 KiB", ["getLargeUser"], "both"],
  ["ListUsers, images of 4 MiB", ["listUsers"], "rows"],
  ["BatchGetUsers, images of 4 MiB", ["batchGetUsers"], "rows"],
]
const [heavy, other] = [staticKey(["all"], { tenant: "heavy" }), staticKey(["all"], { tenant: "other" })]

const reports: string[] = [`${machineText(readMachineFacts())}.`]
for (const name of String(values.databases).split(","))
  reports.push(await measure(name === "sqlite" ? await sqlite() : await mysql()))
process.stdout.write(`${reports.join("\n\n")}\n`)
if (values.dry !== true) writeSection("bench/shares.ts", reports.join("\n\n"))

interface Place {
  name: string
  url: string
  /** Runs SQL in which `numbers` is a table of the numbers from 0 to `rows` - 1. */
  fill(statements: readonly string[]): Promise<void>
  remove(): Promise<void>
}

async function measure({ name, url, fill, remove }: Place): Promise<string> {
  const server = await startAuthwire(url, {
    args: ["--migrate", "--cleanup-interval=0", "--events-keep=1d"],
    env: { AUTHWIRE_API_KEYS: JSON.stringify([heavy, other, ...Object.values(large)].map(({ entry }) => entry)) },
  })
  const { grpcUrl = "", httpUrl = "" } = server.endpoints
  try {
    const tenants = ["heavy", "other", ...Object.keys(large)].map(
      (tenant) => `('${tenant}', '2026-01-01 00:00:00.000')`,
    )
    await fill([`INSERT INTO tenants (name, created) VALUES ${tenants.join(", ")}`])
    const cursor = await presentCursor(grpcUrl)
    await fill(statements(name === "SQLite"))
    const reader = await startChild("shares-side.ts", [grpcUrl, other.text])
    const say = (request: SharesRequest) => reader.ask(request) as Promise<SharesSight>
    const writer = await startChild("shares-side.ts", [grpcUrl, other.text])
    const sayToWriter = (request: SharesRequest) => writer.ask(request) as Promise<SharesSight>
    const health = watchHealth(grpcUrl, httpUrl)
    await say({ do: "begin", calls: ["getSessionAndUser", "getUser", "listSessions"], callers: 4, pauseMs: 10 })
    await sayToWriter({ do: "begin", calls: ["updateUser"], callers: 1, pauseMs: 20 })
    await delay(3_000)
    await say({ do: "look" })
    const lines: string[][] = []
    let [quietP99, quietWrites, deletions] = [0, 0, 0]
    const window = async (what: string, made: () => Promise<SharesSight | undefined>) => {
      health.reset()
      await Promise.all([say, sayToWriter].map((to) => to({ do: "look" })))
      await delay(seconds * 1000)
      const [seen, written] = await Promise.all([say({ do: "look" }), sayToWriter({ do: "look" })])
      const own = await made()
      quietP99 ||= seen.p99
      quietWrites ||= written.p99
      const cells = [seen.p50, seen.p99, seen.worst, seen.p99 / quietP99, written.p99, written.p99 / quietWrites]
      lines.push([
        what,
        ...cells.map(short),
        `${seen.failed + written.failed} of ${seen.made + written.made}`,
        short(health.worst()),
        own ? `${own.failed} of ${own.made}` : "",
        short(own?.p50),
      ])
      process.stderr.write(`${name}: ${lines.at(-1)?.join(" | ")}\n`)
    }
    await window("nobody else", async () => undefined)
    for (const [load, calls, tenant] of loads) {
      if (!load.includes(String(values.only))) continue
      for (const number of callers) {
        const attacker = await startChild("shares-side.ts", [grpcUrl, (tenant ? large[tenant] : heavy).text, httpUrl], {
          nice: 10,
        })
        const ask = (request: SharesRequest) => attacker.ask(request) as Promise<SharesSight>
        const firstDeleted = calls.includes("deleteUser") ? deletions : 0
        if (calls.includes("deleteUser")) deletions += rows / sessionsOfDeleted / 2 / callers.length
        await ask({ do: "begin", calls, callers: number, pauseMs: 0, cursor, firstDeleted })
        await delay(1_000)
        await ask({ do: "look" })
        await window(`${load}, ${number} callers`, () => ask({ do: "look" }))
        await attacker.stop()
        await delay(2_000)
      }
    }
    await reader.stop()
    await writer.stop()
    health.stop()
    const head = [
      "",
      "p50, ms",
      "p99, ms",
      "slowest, ms",
      "p99, times the quiet one",
      "p99 of writes, ms",
      "times the quiet one",
      "failed",
      "slowest health check, ms",
      "failed of the load",
      "p50 of the load, ms",
    ]
    return `${name}, ${count(rows)} expired sessions, users, accounts and events each, ${seconds} seconds a line:\n\n${table(head, lines)}`
  } finally {
    await server.stop()
    await remove()
  }
}

/** Returns the cursor before all events that are written later. */
async function presentCursor(url: string): Promise<string> {
  const events = createClient(EventService, createGrpcTransport({ baseUrl: url }))
  const headers = { authorization: `Bearer ${heavy.text}` }
  for await (const { cursor } of events.watch({}, { headers })) return cursor
  throw new Error("the stream of events has ended")
}

/** The rows of the two tenants. */
function statements(isSqlite: boolean): string[] {
  const hash = isSqlite ? "randomblob(32)" : "UNHEX(SHA2(CONCAT('s', n), 256))"
  const id = (prefix: string) => (isSqlite ? `'${prefix}' || n` : `CONCAT('${prefix}', n)`)
  const at = isSqlite ? "strftime('%Y-%m-%d %H:%M:%f', 'now', '-' || n || ' seconds')" : "NOW(3) - INTERVAL n SECOND"
  const soon = isSqlite ? "strftime('%Y-%m-%d %H:%M:%f', 'now', '-1 days')" : "NOW(3) - INTERVAL 1 DAY"
  const deletedUser = isSqlite ? `'d' || (n / ${sessionsOfDeleted})` : `CONCAT('d', n DIV ${sessionsOfDeleted})`
  const text = (bytes: number) =>
    isSqlite ? `replace(hex(zeroblob(${bytes / 2})), '0', 'x')` : `REPEAT('x', ${bytes})`
  const zeros = isSqlite ? "replace(hex(zeroblob(16000)), '0', '0,')" : "REPEAT('0,', 32000)"
  const values = isSqlite ? `'{"zeros":[' || ${zeros} || '0]}'` : `CONCAT('{"zeros":[', ${zeros}, '0]}')`
  const largeUsers = (tenant: keyof typeof large, number: number, image: string, extra = "'{}'") =>
    `INSERT INTO users (tenant, id, image, extra, created) SELECT '${tenant}', ${id("r")}, ${image}, ${extra}, ${at} FROM numbers WHERE n < ${number}`
  const own = createHash("sha256").update("own").digest("hex")
  const ownHash = isSqlite ? `x'${own}'` : `UNHEX('${own}')`
  const session = "INSERT INTO sessions (tenant, token_hash, user_id, expires, extra, id, created)"
  return [
    "INSERT INTO users (tenant, id, extra) VALUES ('heavy', 'many', '{}'), ('heavy', 'others', '{}'), ('other', 'own', '{}')",
    `${session} VALUES ('other', ${ownHash}, 'own', '2100-01-01 00:00:00.000', '{}', 'own', ${soon})`,
    `${session} SELECT 'heavy', ${hash}, 'many', ${soon}, '{}', ${id("s")}, ${at} FROM numbers`,
    // Without these, a server would find the active sessions of all users by the index of their expiry.
    `${session} SELECT 'heavy', ${hash.replace("'s'", "'o'")}, 'others', '2100-01-01 00:00:00.000', '{}', ${id("o")}, ${at} FROM numbers`,
    `INSERT INTO users (tenant, id, extra) SELECT 'heavy', ${id("d")}, '{}' FROM numbers WHERE n < ${rows / sessionsOfDeleted}`,
    `${session} SELECT 'heavy', ${hash.replace("'s'", "'d'")}, ${deletedUser}, '2100-01-01 00:00:00.000', '{}', ${id("d")}, ${at} FROM numbers`,
    `INSERT INTO events (tenant, kind, user_id, created) SELECT 'heavy', 'user.created', ${id("u")}, ${at} FROM numbers`,
    `INSERT INTO users (tenant, id, extra, created) SELECT 'heavy', ${id("u")}, '{}', ${at} FROM numbers`,
    `INSERT INTO accounts (tenant, provider, provider_account_id, user_id, type, extra)
      SELECT 'heavy', 'p', ${id("a")}, 'many', 'oauth', '{}' FROM numbers`,
    largeUsers("images", 500, text(2 ** 18)),
    largeUsers("values", 500, "NULL", values),
    largeUsers("both", 500, text(2 ** 18), values),
    largeUsers("rows", 32, text(2 ** 22)),
  ]
}

async function sqlite(): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), "authwire-shares-"))
  const file = join(folder, "shares.db")
  return {
    name: "SQLite",
    url: `sqlite:${file}`,
    async fill(all) {
      const database = new DatabaseSync(file, { timeout: 10_000 })
      const numbers = `WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${rows - 1})`
      for (const statement of all) {
        const [insert = "", select] = statement.split(/(?=\bSELECT ')/s)
        database.exec(select === undefined ? insert : `${insert} ${numbers} ${select}`)
      }
      database.close()
    },
    remove: async () => rmSync(folder, { recursive: true, force: true }),
  }
}

async function mysql(): Promise<Place> {
  const server = await openMysqlServer(2 ** 29)
  const name = `authwire_shares_${randomBytes(4).toString("hex")}`
  await server.pool.query(`CREATE DATABASE ${name}`)
  const url = server.url(name)
  return {
    name: server.version,
    url,
    async fill(all) {
      const database = await createConnection({ uri: url, timezone: "Z" })
      await database.query("SET SESSION foreign_key_checks = 0, unique_checks = 0, time_zone = '+00:00'")
      await database.query("CREATE TEMPORARY TABLE numbers (n INT NOT NULL PRIMARY KEY)")
      await database.query(deepRecursion)
      await database.query(
        `INSERT INTO numbers WITH RECURSIVE c (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM c WHERE n < ${rows - 1}) SELECT n FROM c`,
      )
      for (const statement of all) await database.query(statement)
      await database.query("ANALYZE TABLE users, sessions, accounts")
      await database.end()
    },
    async remove() {
      await server.pool.query(`DROP DATABASE ${name}`)
      await server.close()
    },
  }
}

function watchHealth(grpcUrl: string, httpUrl: string) {
  const { http } = healthQuestions(grpcUrl, httpUrl, 10_000)
  let worst = 0
  const timer = setInterval(async () => {
    const begun = performance.now()
    const isWell = await http("/readyz").catch(() => false)
    worst = Math.max(worst, isWell ? performance.now() - begun : 10_000)
  }, 200)
  return {
    worst: () => worst,
    reset() {
      worst = 0
    },
    stop: () => clearInterval(timer),
  }
}
