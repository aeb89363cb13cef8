// Measures how callers are affected while a service deletes a table of expired sessions. Prints the latencies of calls
// at a steady rate with and without --cleanup-interval, in alternating windows. With --all it also prints how long the
// deletion of all remaining rows takes without calls. Needs MySQL or MariaDB, as bench/wire.ts does.
//
//   node bench/cleanup.ts [--rows 5000000] [--users 100000] [--rate 500] [--seconds 20] [--rounds 3] [--all]

import { randomUUID } from "node:crypto"
import { loadavg } from "node:os"
import { setTimeout as delay } from "node:timers/promises"
import { parseArgs } from "node:util"
import { createAuthwireClient } from "@authwire/client"
import { createConnection, type RowDataPacket } from "mysql2/promise"
import { openMysqlServer } from "./data/mysql-server.ts"
import { median, openTimes } from "./load/statistics.ts"
import { openStage } from "./sections/stage.ts"
import { apiKey } from "./servers/key.ts"
import { startAuthwire } from "./servers/processes.ts"

const { values } = parseArgs({
  options: {
    rows: { type: "string", default: "5000000" },
    users: { type: "string", default: "100000" },
    rate: { type: "string", default: "500" },
    seconds: { type: "string", default: "20" },
    rounds: { type: "string", default: "3" },
    all: { type: "boolean", default: false },
  },
})
const [rows, users, rate, seconds, rounds] = [
  values.rows,
  values.users,
  values.rate,
  values.seconds,
  values.rounds,
].map(Number) as [number, number, number, number, number]

const mysql = await openMysqlServer(2 ** 30)
const stage = openStage(mysql)
try {
  const { url } = await stage.database("authwire", users)
  const database = await createConnection({ uri: url, timezone: "Z" })
  const expired = async () => {
    const [[count]] = await database.query<RowDataPacket[]>(
      "SELECT COUNT(*) AS n FROM sessions WHERE expires < UTC_TIMESTAMP() - INTERVAL 7 DAY",
    )
    return Number(count?.n)
  }
  const isAny = async () => {
    const [first] = await database.query<RowDataPacket[]>(
      "SELECT expires FROM sessions WHERE expires < UTC_TIMESTAMP() - INTERVAL 7 DAY LIMIT 1",
    )
    return first.length > 0
  }
  await fill(database)
  stage.say(`${await expired()} expired sessions`)

  const ratios: number[] = []
  for (let round = 1; round <= rounds; round++) {
    const without = await windowOf(url, [])
    const before = await expired()
    const cleaning = await windowOf(url, ["--cleanup-interval=1s"])
    ratios.push(cleaning.p99 / without.p99)
    process.stdout.write(`round ${round}, without: ${text(without)}\n`)
    process.stdout.write(`round ${round}, cleaning: ${text(cleaning)}; ${before - (await expired())} rows deleted\n`)
  }
  process.stdout.write(`p99 while it cleans, as a multiple of it without: ${median(ratios).toFixed(2)} `)
  process.stdout.write(`(${ratios.map((ratio) => ratio.toFixed(2)).join(", ")})\n`)

  if (values.all) {
    const rest = await expired()
    const server = await startAuthwire(url, { args: ["--cleanup-interval=1s"] })
    const begun = performance.now()
    while (await isAny()) await delay(1_000)
    const took = (performance.now() - begun) / 1000
    await server.stop()
    process.stdout.write(
      `the last ${rest} rows, with no calls: ${took.toFixed(0)} s, ${(rest / took).toFixed(0)} a second\n`,
    )
  }
  await database.end()
} finally {
  await stage.clear()
  await mysql.close()
}

/** Inserts sessions that expired more than a week ago. */
async function fill(database: Awaited<ReturnType<typeof createConnection>>): Promise<void> {
  await database.query("SET SESSION foreign_key_checks = 0, unique_checks = 0")
  await database.query("SET SESSION sql_log_bin = 0").catch(() => {})
  const step = 250_000
  // The index is created again at the end. That is faster than inserting into it in random order.
  await database.query("ALTER TABLE sessions DROP INDEX sessions_expires")
  await database.query("CREATE TABLE numbers (n INT NOT NULL PRIMARY KEY)")
  await database.query("INSERT INTO numbers VALUES (0)")
  for (let n = 1; n < step; n *= 2) await database.query(`INSERT INTO numbers SELECT n + ${n} FROM numbers`)
  for (let from = 0; from < rows; from += step) {
    await database.query(
      `INSERT INTO sessions (tenant, token_hash, user_id, expires, extra)
        SELECT 'default', UNHEX(SHA2(CONCAT('expired ', n + ?), 256)), u.id,
          UTC_TIMESTAMP() - INTERVAL 8 DAY - INTERVAL (n + ?) SECOND, '{}'
        FROM numbers JOIN (SELECT id FROM users LIMIT 1) u WHERE n < ? ORDER BY 2`,
      [from, from, Math.min(step, rows - from)],
    )
  }
  await database.query("DROP TABLE numbers")
  await database.query("ALTER TABLE sessions ADD INDEX sessions_expires (expires)")
  await database.query("ANALYZE TABLE sessions")
}

/**
 * Calls a service with these arguments at a steady rate. The time of each call counts from the moment at which it was
 * due.
 */
async function windowOf(url: string, args: readonly string[]) {
  const server = await startAuthwire(url, { args: args.length === 0 ? ["--cleanup-interval=0"] : args })
  const client = createAuthwireClient({ url: server.endpoints.grpcUrl ?? "", apiKey })
  const { adapter } = client
  const user = await adapter.createUser({ id: randomUUID(), email: "", emailVerified: null })
  const tokens = Array.from({ length: 1_000 }, () => randomUUID())
  const expires = new Date(Date.now() + 86_400_000)
  for (const sessionToken of tokens) await adapter.createSession({ sessionToken, userId: user.id, expires })

  // One call in ten writes.
  const call = (n: number): Promise<unknown> =>
    n % 10 === 0
      ? adapter.createSession({ sessionToken: randomUUID(), userId: user.id, expires })
      : adapter.getSessionAndUser(tokens[n % tokens.length] as string)
  const times = openTimes()
  let failures = 0
  const calls: Promise<unknown>[] = []
  const warmUp = 3 * rate
  const begun = performance.now()
  for (let n = 0; n < warmUp + rate * seconds; n++) {
    const due = begun + (n * 1000) / rate
    const early = due - performance.now()
    if (early > 0) await delay(early)
    const ended = () => void (n >= warmUp && times.add(performance.now() - due))
    calls.push(call(n).then(ended, () => failures++))
  }
  await Promise.all(calls)
  client.close()
  await server.stop()
  return {
    p50: times.percentile(50),
    p99: times.percentile(99),
    calls: times.count(),
    failures,
    load: loadavg()[0] ?? 0,
  }
}

function text({ calls, p50, p99, failures, load }: Awaited<ReturnType<typeof windowOf>>): string {
  return `${calls} calls, p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms, ${failures} failed, load ${load.toFixed(1)}`
}
