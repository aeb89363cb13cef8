// Measures whether listing or revoking the sessions of a user becomes slower when the table has more sessions of other
// users. Prints the median time of a call with 10,000 and with 1,000,000 sessions, in turns, and their ratio. Also
// prints the time of a page for a user with many sessions and for a user with few. Needs MySQL or MariaDB, as
// bench/wire.ts does.
//
//   node bench/session-lists.ts [--sizes 10000,1000000] [--rounds 7] [--lists 2000] [--revocations 200] [--quiet FILE]
//
// With --quiet, the file exists during the measurement, but not while the tables are filled. Other users of the machine
// can then avoid disturbing the measurement.

import { randomBytes, randomUUID } from "node:crypto"
import { rmSync, writeFileSync } from "node:fs"
import { loadavg } from "node:os"
import { parseArgs } from "node:util"
import { createAuthwireClient } from "@authwire/client"
import { timestampFromDate } from "@bufbuild/protobuf/wkt"
import { createConnection } from "mysql2/promise"
import { openMysqlServer } from "./data/mysql-server.ts"
import { median, openTimes, randomNumbers } from "./load/statistics.ts"
import { apiKey } from "./servers/key.ts"
import { startAuthwire } from "./servers/processes.ts"

const { values } = parseArgs({
  options: {
    sizes: { type: "string", default: "10000,1000000" },
    rounds: { type: "string", default: "7" },
    lists: { type: "string", default: "2000" },
    revocations: { type: "string", default: "200" },
    quiet: { type: "string" },
  },
})
const [rounds, lists, revocations] = [values.rounds, values.lists, values.revocations].map(Number) as [
  number,
  number,
  number,
]
/** The number of sessions of each user. One further user has `sessionsOfMany`. */
const sessionsOfUser = 5
const sessionsOfMany = 5_000
const expires = timestampFromDate(new Date("2036-01-01T00:00:00Z"))

const mysql = await openMysqlServer(2 ** 30)
const closing: (() => Promise<unknown>)[] = [() => mysql.close()]
const say = (text: string) => process.stderr.write(`${text}\n`)

try {
  const sides: Awaited<ReturnType<typeof startSide>>[] = []
  for (const size of values.sizes.split(",").map(Number)) sides.push(await startSide(size))
  if (values.quiet !== undefined) writeFileSync(values.quiet, "")
  const figures = new Map<string, number[][]>()
  const note = (what: string, side: number, ms: number) => {
    const all = figures.get(what) ?? sides.map(() => [])
    figures.set(what, all)
    all[side]?.push(ms)
  }
  const begun = performance.now()
  // The first round is the warm-up.
  for (let round = 0; round <= rounds; round++) {
    for (const [index, side] of sides.entries()) {
      const measured = { ...(await side.list(lists)), ...(await side.revoke(revocations)) }
      if (round > 0) for (const [what, ms] of Object.entries(measured)) note(what, index, ms)
    }
  }
  say(`measured for ${((performance.now() - begun) / 1000).toFixed(0)} s, load ${(loadavg()[0] ?? 0).toFixed(1)}`)
  process.stdout.write(`${mysql.version}; p50 of a call in ms, median of ${rounds} rounds; ${values.sizes} sessions\n`)
  for (const [what, all] of figures) {
    const [first, ...others] = all.map(median) as [number, ...number[]]
    const ratios = others.map((other) => (other / first).toFixed(2))
    const texts = [first, ...others].map((ms) => ms.toFixed(3))
    process.stdout.write(`${what}: ${texts.join(", ")}; ratio ${ratios.join(", ")}\n`)
  }
} finally {
  if (values.quiet !== undefined) rmSync(values.quiet, { force: true })
  for (const close of closing.reverse()) await close()
}

/** Starts a service on a table with this number of sessions. */
async function startSide(size: number) {
  const name = `authwire_bench_${randomBytes(6).toString("hex")}`
  await mysql.pool.query(`CREATE DATABASE ${name}`)
  closing.push(() => mysql.pool.query(`DROP DATABASE ${name}`))
  const server = await startAuthwire(mysql.url(name), { args: ["--migrate", "--cleanup-interval=0"] })
  closing.push(() => server.stop())
  const users = Math.floor(size / sessionsOfUser)
  await fill(mysql.url(name), users)
  say(`filled ${size} sessions`)

  const client = createAuthwireClient({ url: server.endpoints.grpcUrl ?? "", apiKey, timeoutMs: 60_000 })
  closing.push(async () => client.close())
  const { sessions } = client
  const random = randomNumbers(size)
  const anybody = () => `u${String(Math.floor(random() * users)).padStart(8, "0")}`
  async function timed(count: number, call: () => Promise<unknown>): Promise<number> {
    const times = openTimes()
    for (let n = 0; n < count; n++) {
      const start = performance.now()
      await call()
      times.add(performance.now() - start)
    }
    return times.percentile(50)
  }

  return {
    async list(count: number) {
      const pageSize = sessionsOfUser
      const { nextPageToken } = await sessions.listSessions({ userId: "many", pageSize: 1000 })
      return {
        "ListSessions, all of a user": await timed(count, () => sessions.listSessions({ userId: anybody() })),
        "ListSessions, the first page of one who has 5,000": await timed(count, () =>
          sessions.listSessions({ userId: "many", pageSize }),
        ),
        "ListSessions, a later page of the same": await timed(count, () =>
          sessions.listSessions({ userId: "many", pageSize, pageToken: nextPageToken }),
        ),
      }
    },
    /** Revokes sessions. They are created again by calls that are not timed. */
    async revoke(count: number) {
      const revoked: string[] = []
      const ms = await timed(count, () => {
        const userId = anybody()
        revoked.push(userId)
        return sessions.revokeUserSessions({ userId })
      })
      for (const userId of new Set(revoked)) {
        const again = Array.from({ length: sessionsOfUser }, () => randomUUID())
        await Promise.all(again.map((sessionToken) => sessions.createSession({ sessionToken, userId, expires })))
      }
      return { RevokeUserSessions: ms }
    },
  }
}

/** Inserts users with sessions that were not created by the service. The tokens of these sessions are unknown. */
async function fill(url: string, users: number): Promise<void> {
  const database = await createConnection({ uri: url, timezone: "Z" })
  await database.query("SET SESSION foreign_key_checks = 0, unique_checks = 0")
  await database.query("SET SESSION sql_log_bin = 0").catch(() => {})
  const step = 20_000
  await database.query("CREATE TABLE numbers (n INT NOT NULL PRIMARY KEY)")
  await database.query("INSERT INTO numbers VALUES (0)")
  for (let n = 1; n < step; n *= 2) await database.query(`INSERT INTO numbers SELECT n + ${n} FROM numbers`)
  // In the order of the keys, which is faster.
  const sessionsOf = (user: string, number: string, first: number) => `SELECT 'default',
    UNHEX(LPAD(HEX(${first} + n), 64, '0')), ${user},
    '2036-01-01', '{}', NOW(3) - INTERVAL ${number} MINUTE, '203.0.113.7', REPEAT('agent ', 12)`
  const insert = "INSERT INTO sessions (tenant, token_hash, user_id, expires, extra, created, ip, user_agent)"
  await database.query("INSERT INTO users (tenant, id, extra) VALUES ('default', 'many', '{}')")
  await database.query(`${insert} ${sessionsOf("'many'", "n", 0)} FROM numbers WHERE n < ${sessionsOfMany}`)
  const inSteps = async (insertStep: (from: number, those: string) => Promise<unknown>) => {
    for (let from = 0; from < users; from += step)
      await insertStep(from, `FROM numbers WHERE n < ${Math.min(step, users - from)} ORDER BY n`)
  }
  await inSteps((from, those) =>
    database.query(
      `INSERT INTO users (tenant, id, extra) SELECT 'default', CONCAT('u', LPAD(n + ${from}, 8, '0')), '{}' ${those}`,
    ),
  )
  // The sessions of a user are not adjacent, as if the user had signed in over months.
  for (let time = 1; time <= sessionsOfUser; time++)
    await inSteps((from, those) => {
      const user = `CONCAT('u', LPAD(n + ${from}, 8, '0'))`
      return database.query(`${insert} ${sessionsOf(user, `${time}`, time * 10_000_000 + from)} ${those}`)
    })
  await database.query("DROP TABLE numbers")
  await database.query("ANALYZE TABLE users, sessions")
  await database.end()
}
