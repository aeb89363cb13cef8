// Measures what the deletion of users with many sessions costs other calls, in a table of 1,000,000 sessions. Ten users
// are deleted at the same time. Prints the p50 and p99 of GetSessionAndUser: before, during the deletions, and while the
// cleanup deletes their rows. Needs MySQL or MariaDB, as bench/wire.ts does.
//
//   node bench/deletions.ts [--sessions 1000000] [--many 40000] [--callers 4] [--seconds 10]

import { randomBytes, randomUUID } from "node:crypto"
import { setTimeout as delay } from "node:timers/promises"
import { parseArgs } from "node:util"
import { createAuthwireClient } from "@authwire/client"
import { timestampFromDate } from "@bufbuild/protobuf/wkt"
import { createConnection, type RowDataPacket } from "mysql2/promise"
import { openMysqlServer } from "./data/mysql-server.ts"
import { openTimes } from "./load/statistics.ts"
import { apiKey } from "./servers/key.ts"
import { startAuthwire } from "./servers/processes.ts"

const { values } = parseArgs({
  options: {
    sessions: { type: "string", default: "1000000" },
    many: { type: "string", default: "40000" },
    callers: { type: "string", default: "4" },
    seconds: { type: "string", default: "10" },
  },
})
const [all, many, callers, seconds] = [values.sessions, values.many, values.callers, values.seconds].map(Number) as [
  number,
  number,
  number,
  number,
]
const deletions = 10
const print = (text: string) => process.stdout.write(`${text}\n`)

const mysql = await openMysqlServer(2 ** 30)
const closing: (() => Promise<unknown>)[] = [() => mysql.close()]
try {
  const name = `authwire_bench_${randomBytes(6).toString("hex")}`
  await mysql.pool.query(`CREATE DATABASE ${name}`)
  closing.push(() => mysql.pool.query(`DROP DATABASE ${name}`))
  const server = await startAuthwire(mysql.url(name), { args: ["--migrate", "--cleanup-interval=1s"] })
  closing.push(() => server.stop())
  await fill(mysql.url(name))
  const client = createAuthwireClient({ url: server.endpoints.grpcUrl ?? "", apiKey, timeoutMs: 60_000 })
  closing.push(async () => client.close())

  const { user } = await client.users.createUser({ extra: {} })
  const tokens = Array.from({ length: 100 }, () => randomUUID())
  const expires = timestampFromDate(new Date("2036-01-01T00:00:00Z"))
  for (const sessionToken of tokens) {
    await client.sessions.createSession({ sessionToken, userId: user?.id ?? "", expires })
  }

  /** Reads sessions until the promise settles, and prints how long the calls took. */
  async function during(what: string, end: Promise<unknown>): Promise<void> {
    const times = openTimes()
    let [isOver, failures] = [false, 0]
    const over = end.finally(() => {
      isOver = true
    })
    const call = async () => {
      for (let n = 0; !isOver; n++) {
        const begun = performance.now()
        const sessionToken = tokens[n % tokens.length] as string
        await client.sessions.getSessionAndUser({ sessionToken }).catch(() => failures++)
        times.add(performance.now() - begun)
      }
    }
    await Promise.all([over, ...Array.from({ length: callers }, call)])
    const [p50, p99] = [50, 99].map((rank) => times.percentile(rank).toFixed(1))
    print(`${what}: p50 ${p50} ms, p99 ${p99} ms, ${failures} failures`)
  }

  print(`${mysql.version}; GetSessionAndUser by ${callers} callers, ${all} sessions`)
  await during("before", delay(5_000))
  await during("before, again", delay(seconds * 1_000))
  const begun = performance.now()
  const deleted = Array.from({ length: deletions }, (_, n) =>
    client.users.deleteUser({ id: `many ${n}` }).then(
      () => `${(performance.now() - begun).toFixed(0)} ms`,
      (error: Error) => `${(performance.now() - begun).toFixed(0)} ms: ${error.message}`,
    ),
  )
  await during(`${deletions} calls of DeleteUser, ${many} sessions each`, Promise.all(deleted))
  print(`  they took ${(await Promise.all(deleted)).join(", ")}`)
  const before = await rowsLeft(name)
  await during("while the cleanup deletes the rows", delay(seconds * 1_000))
  print(`  it deleted ${((before - (await rowsLeft(name))) / seconds).toFixed(0)} rows a second`)
} finally {
  for (const close of closing.reverse()) await close()
}

/** Returns the number of sessions of the users that were deleted. */
async function rowsLeft(database: string): Promise<number> {
  const sql = `SELECT COUNT(*) AS n FROM ${database}.sessions WHERE user_id LIKE 'many %'`
  const [[row]] = (await mysql.pool.query<RowDataPacket[]>(sql)) as [RowDataPacket[], unknown]
  return Number(row?.n)
}

/** Inserts users: some with many sessions, the others with five each. */
async function fill(url: string): Promise<void> {
  const database = await createConnection({ uri: url, timezone: "Z" })
  await database.query("SET SESSION foreign_key_checks = 0, unique_checks = 0")
  await database.query("SET SESSION sql_log_bin = 0").catch(() => {})
  const step = 2 ** 15
  await database.query("CREATE TABLE numbers (n INT NOT NULL PRIMARY KEY)")
  await database.query("INSERT INTO numbers VALUES (0)")
  for (let n = 1; n < step; n *= 2) await database.query(`INSERT INTO numbers SELECT n + ${n} FROM numbers`)
  const insert = (user: string, first: number, count: number) =>
    database.query(`INSERT INTO sessions (tenant, token_hash, user_id, expires, extra, created, ip, user_agent)
      SELECT 'default', UNHEX(SHA2(${first} + n, 256)), ${user}, '2036-01-01', '{}', NOW(3) - INTERVAL n MINUTE,
      '203.0.113.7', REPEAT('agent ', 12) FROM numbers WHERE n < ${count}`)
  let inserted = 0
  for (let user = 0; user < deletions; user++) {
    await database.query(`INSERT INTO users (tenant, id, extra) VALUES ('default', 'many ${user}', '{}')`)
    for (let left = many; left > 0; left -= step) {
      const count = Math.min(left, step)
      await insert(`'many ${user}'`, inserted, count)
      inserted += count
    }
  }
  for (; inserted < all; inserted += step) await insert(`CONCAT('u', (${inserted} + n) DIV 5)`, inserted, step)
  await database.query(`INSERT INTO users (tenant, id, extra)
    SELECT DISTINCT 'default', s.user_id, '{}' FROM sessions s WHERE s.user_id LIKE 'u%'`)
  await database.query("DROP TABLE numbers")
  await database.query("ANALYZE TABLE users, sessions")
  await database.end()
}
