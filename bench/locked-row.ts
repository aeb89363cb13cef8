// Measures how other callers are affected by 40 writers of a row that another transaction has locked. Prints the
// latency of getUser with and without the writers, in turns, and the number of failed calls. Needs MySQL or MariaDB, as
// bench/wire.ts does.
//
//   node bench/locked-row.ts [--seconds 10] [--rounds 3] [--writers 40] [--callers 8]

import { randomBytes, randomUUID } from "node:crypto"
import { parseArgs } from "node:util"
import { createAuthwireClient } from "@authwire/client"
import { openMysqlServer } from "./data/mysql-server.ts"
import { closedLoop } from "./load/closed-loop.ts"
import { median } from "./load/statistics.ts"
import { apiKey } from "./servers/key.ts"
import { startAuthwire } from "./servers/processes.ts"

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "10" },
    rounds: { type: "string", default: "3" },
    writers: { type: "string", default: "40" },
    callers: { type: "string", default: "8" },
  },
})
const [seconds, rounds, writers, callers] = [values.seconds, values.rounds, values.writers, values.callers].map(
  Number,
) as [number, number, number, number]

interface Window {
  calls: number
  failures: number
  p50: number
  p99: number
}

const mysql = await openMysqlServer()
const name = `authwire_bench_${randomBytes(6).toString("hex")}`
await mysql.pool.query(`CREATE DATABASE ${name}`)
const server = await startAuthwire(mysql.url(name), { args: ["--migrate"] })
const client = createAuthwireClient({ url: server.endpoints.grpcUrl ?? "", apiKey, timeoutMs: 30_000 })
const writing = createAuthwireClient({ url: server.endpoints.grpcUrl ?? "", apiKey, timeoutMs: 30_000 })
try {
  const user = async () => (await client.adapter.createUser({ id: randomUUID(), email: "", emailVerified: null })).id
  const users = await Promise.all(Array.from({ length: 100 }, user))
  await windowOf(users, 2)
  const ratios: number[] = []
  for (let round = 1; round <= rounds; round++) {
    const without = await windowOf(users, seconds)
    const locked = await lockedWindow(users, await user())
    ratios.push(locked.window.p99 / without.p99)
    process.stdout.write(`round ${round}, without: ${text(without)}\n`)
    process.stdout.write(`round ${round}, with:    ${text(locked.window)}; of the writers ${locked.rejected} failed\n`)
  }
  process.stdout.write(`p99 of getUser with ${writers} writers of a locked row, as a multiple of it without: `)
  process.stdout.write(`${median(ratios).toFixed(2)} (${ratios.map((ratio) => ratio.toFixed(2)).join(", ")})\n`)
} finally {
  client.close()
  writing.close()
  await server.stop()
  await mysql.pool.query(`DROP DATABASE ${name}`)
  await mysql.close()
}

/** Measures closed loops of getUser. */
async function windowOf(users: readonly string[], seconds: number): Promise<Window> {
  let [next, failures] = [0, 0]
  const call = () => client.adapter.getUser(users[next++ % users.length] as string).catch(() => failures++)
  const { calls, p50, p99 } = await closedLoop({ call, callers, warmUpMs: 0, windowMs: seconds * 1000, pids: [] })
  return { calls, failures, p50, p99 }
}

/**
 * Does the same while a row is locked and the writers wait for it. Half of them update the user, half create sessions
 * of the user.
 */
async function lockedWindow(users: readonly string[], id: string) {
  const holder = await mysql.pool.getConnection()
  await holder.query(`USE ${name}`)
  await holder.query("BEGIN")
  await holder.query("SELECT id FROM users WHERE tenant = 'default' AND id = ? FOR UPDATE", [id])
  const { adapter } = writing
  const expires = new Date(Date.now() + 86_400_000)
  const calls = Array.from({ length: writers }, (_, n) =>
    n % 2 === 0
      ? adapter.updateUser({ id, name: String(n) })
      : adapter.createSession({ sessionToken: randomUUID(), userId: id, expires }),
  )
  const ends = Promise.allSettled<unknown>(calls)
  const window = await windowOf(users, seconds)
  await holder.query("ROLLBACK")
  holder.destroy()
  return { window, rejected: (await ends).filter(({ status }) => status === "rejected").length }
}

function text({ calls, failures, p50, p99 }: Window): string {
  return `${calls} calls, p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms, ${failures} failed`
}
