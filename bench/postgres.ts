// Compares Authwire with Drizzle's adapter on a PostgreSQL server that is started for the run. Needs a build, and
// PostgreSQL 15 or later. Prints a table. The goal is twice the throughput of the adapter for getSessionAndUser with 32
// callers.
//
//   node bench/postgres.ts [--rounds 7] [--seconds 1] [--callers 1,32] [--users 100000] [--only getSessionAndUser] [--quick]

import { loadavg } from "node:os"
import { type ContenderName, contenders } from "./contenders/contenders.ts"
import { openPostgresServer } from "./data/postgres.ts"
import { startSide } from "./load/sides/start-side.ts"
import { type Turn, takeTurns, warmUp } from "./load/turns.ts"
import { readOptions } from "./options.ts"
import { startAuthwire } from "./servers/processes.ts"

const options = readOptions()
const { rounds = options.quick ? 1 : 7, seconds = options.quick ? 0.1 : 1, callers = [1, 32], operations } = options
const { users = options.quick ? 1_000 : 100_000 } = options
const pace = { rounds, windowMs: seconds * 1000, warmUpMs: seconds * 250 }

const server = await openPostgresServer()
const ends: (() => Promise<void>)[] = []
try {
  const authwire = await startAuthwire(await server.load("authwire", users))
  ends.push(authwire.stop)
  const endpoints = {
    "authwire-pipeline": authwire.endpoints,
    "authwire-unary": authwire.endpoints,
    "drizzle-postgres": { databaseUrl: await server.load("plain", users) },
  } satisfies Partial<Record<ContenderName, object>>
  const turns: Turn[] = []
  for (const [name, endpoint] of Object.entries(endpoints)) {
    const side = await startSide(name as ContenderName, endpoint, [authwire.pid])
    ends.push(side.stop)
    await side.check(users)
    turns.push({ name, side, users })
  }
  process.stdout.write(`${server.version}, ${users} users, load ${loadavg()[0]?.toFixed(1)}\n`)
  for (const operation of operations) {
    await warmUp(turns, operation, seconds * 2000)
    for (const count of callers) {
      const figures = await takeTurns(turns, operation, count, pace)
      const peer = figures.find(({ name }) => name === "drizzle-postgres")?.throughput ?? Number.NaN
      process.stdout.write(`${operation}, ${count} at a time\n`)
      for (const { name, p50, p99, throughput, clientCpu, serverCpu } of figures) {
        const { title } = contenders[name as ContenderName]
        const cpu = `${clientCpu} s of the application, ${serverCpu[0] ?? "none"} of the service`
        process.stdout.write(
          `  ${title}: ${throughput} calls/s, ${(throughput / peer).toFixed(2)} times; ${p50} ms, p99 ${p99} ms; ` +
            `CPU of 10,000 calls: ${cpu}\n`,
        )
      }
    }
  }
} finally {
  for (const end of ends.toReversed()) await end()
  await server.close()
}
