// Measures a page of each filter of ListUsers and ListSessions with many users, each with an account and a session. Needs
// MySQL or MariaDB, as bench/wire.ts does. Writes its section of bench/results.md.
//
//   node bench/find.ts [--users 1000000] [--calls 300] [--dry]

import { randomBytes } from "node:crypto"
import { parseArgs } from "node:util"
import { createAuthwireClient } from "@authwire/client"
import { timestampFromDate } from "@bufbuild/protobuf/wkt"
import { createConnection } from "mysql2/promise"
import { deepRecursion, openMysqlServer } from "./data/mysql-server.ts"
import { readMachineFacts } from "./facts.ts"
import { openTimes } from "./load/statistics.ts"
import { count, machineText, table, writeSection } from "./report/markdown.ts"
import { apiKey } from "./servers/key.ts"
import { startAuthwire } from "./servers/processes.ts"

const { values } = parseArgs({
  options: {
    users: { type: "string", default: "1000000" },
    calls: { type: "string", default: "300" },
    dry: { type: "boolean", default: false },
  },
})
const [total, calls] = [Number(values.users), Number(values.calls)]
const mysql = await openMysqlServer(2 ** 30)
const name = `authwire_find_${randomBytes(4).toString("hex")}`
await mysql.pool.query(`CREATE DATABASE ${name}`)
const server = await startAuthwire(mysql.url(name), { args: ["--migrate", "--cleanup-interval=0"] })
try {
  await fill()
  const client = createAuthwireClient({ url: server.endpoints.grpcUrl ?? "", apiKey, timeoutMs: 60_000 })
  const { users, sessions } = client
  const since = timestampFromDate(new Date(Date.now() - 86_400_000))
  const anybody = () => String(Math.floor(Math.random() * total)).padStart(7, "0")
  const lines: [string, () => Promise<unknown>][] = [
    ["ListUsers, all", () => users.listUsers({})],
    ["ListUsers, email_prefix of one user", () => users.listUsers({ emailPrefix: `user${anybody()}@` })],
    ["ListUsers, email_prefix of all users", () => users.listUsers({ emailPrefix: "user" })],
    ["ListUsers, name_prefix of one user", () => users.listUsers({ namePrefix: `ada ${anybody()} ` })],
    ["ListUsers, name_prefix of all users", () => users.listUsers({ namePrefix: "ada" })],
    ["ListUsers, provider", () => users.listUsers({ provider: "github" })],
    ["ListUsers, last_seen_since", () => users.listUsers({ lastSeenSince: since })],
    ["ListUsers, disabled", () => users.listUsers({ disabled: true })],
    ["ListSessions, all_users and created_since", () => sessions.listSessions({ allUsers: true, createdSince: since })],
    ["ListSessions, all_users and ip", () => sessions.listSessions({ allUsers: true, ip: "203.0.113.7" })],
    ["ListSessions, all_users and impersonated", () => sessions.listSessions({ allUsers: true, impersonated: true })],
    ["BatchGetUsers, 500 ids", () => users.batchGetUsers({ ids: Array.from({ length: 500 }, () => `u${anybody()}`) })],
  ]
  const measured: string[][] = []
  for (const [what, call] of lines) {
    for (let n = 0; n < 20; n++) await call()
    const times = openTimes()
    for (let n = 0; n < calls; n++) {
      const start = performance.now()
      await call()
      times.add(performance.now() - start)
    }
    measured.push([what, times.percentile(50).toFixed(2), times.percentile(99).toFixed(2)])
    process.stderr.write(`${measured.at(-1)?.join(" | ")}\n`)
  }
  client.close()
  const report = `${machineText(readMachineFacts())}, ${mysql.version}.

${count(total)} users, each with an account and a session. Pages of 50, one caller:

${table(["", "p50, ms", "p99, ms"], measured)}`
  process.stdout.write(`${report}\n`)
  if (values.dry !== true) writeSection("bench/find.ts", report)
} finally {
  await server.stop()
  await mysql.pool.query(`DROP DATABASE ${name}`)
  await mysql.close()
}

async function fill(): Promise<void> {
  const database = await createConnection({ uri: mysql.url(name), timezone: "Z" })
  await database.query("SET SESSION foreign_key_checks = 0, unique_checks = 0")
  await database.query(deepRecursion)
  await database.query("SET SESSION sql_log_bin = 0").catch(() => {})
  const step = 50_000
  // Rows that come in the order of their keys are inserted faster.
  const user = "LPAD(n, 7, '0')"
  for (let from = 0; from < total; from += step) {
    const rows = `WITH RECURSIVE c (n) AS (SELECT ${from} UNION ALL SELECT n + 1 FROM c WHERE n < ${Math.min(from + step, total) - 1})`
    const insert = (into: string, values: string) =>
      database.query(`INSERT INTO ${into} ${rows} SELECT ${values} FROM c`)
    await insert(
      "users (tenant, id, extra, email, email_key, name, name_key, created, last_seen_day, disabled)",
      `'default', CONCAT('u', ${user}), '{}', CONCAT('User', ${user}, '@Example.com'),` +
        ` CONCAT('user', ${user}, '@example.com'), CONCAT('Ada ', ${user}, ' Lovelace'), CONCAT('ada ', ${user}, ' lovelace'), NOW(3) - INTERVAL n SECOND,` +
        " CURRENT_DATE - INTERVAL n % 365 DAY," +
        " IF(n % 100 = 0, NOW(3), NULL)",
    )
    await insert(
      "accounts (tenant, provider, provider_account_id, user_id, type, extra)",
      `'default', IF(n % 2 = 0, 'github', 'google'), ${user}, CONCAT('u', ${user}), 'oauth', '{}'`,
    )
    await insert(
      "sessions (tenant, token_hash, user_id, expires, extra, created, ip, impersonator)",
      `'default', UNHEX(SHA2(n, 256)), CONCAT('u', ${user}), '2036-01-01', '{}', NOW(3) - INTERVAL n SECOND,` +
        " CONCAT('203.0.113.', n % 200), IF(n % 1000 = 0, 'staff', NULL)",
    )
  }
  await database.query("ANALYZE TABLE users, accounts, sessions")
  await database.end()
}
