// Measures how much an idempotency key adds to the cost of a write. Prints the throughput, the median time of a call
// and its CPU time, with and without a key, in turns. Needs MySQL or MariaDB, as bench/wire.ts does.
//
//   node bench/repeatable.ts [--seconds 3] [--rounds 5] [--callers 1,32]

import { randomBytes, randomUUID } from "node:crypto"
import { parseArgs } from "node:util"
import { AccountService, AccountType, SessionService, UserService, VerificationTokenService } from "@authwire/proto"
import { timestampFromDate } from "@bufbuild/protobuf/wkt"
import { createClient } from "@connectrpc/connect"
import { pipelineTransport } from "../client/dist/pipeline/transport.js"
import { openMysqlServer } from "./data/mysql-server.ts"
import { closedLoop } from "./load/closed-loop.ts"
import { median } from "./load/statistics.ts"
import { apiKey } from "./servers/key.ts"
import { startAuthwire } from "./servers/processes.ts"

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "3" },
    rounds: { type: "string", default: "5" },
    callers: { type: "string", default: "1,32" },
  },
})
const windowMs = Number(values.seconds) * 1000

const mysql = await openMysqlServer()
const name = `authwire_bench_${randomBytes(6).toString("hex")}`
await mysql.pool.query(`CREATE DATABASE ${name}`)
const server = await startAuthwire(mysql.url(name), { args: ["--migrate"] })
// Uses the transport directly, because the layer above it adds keys itself.
const header = new Headers({ authorization: `Bearer ${apiKey}` })
const transport = pipelineTransport({ url: server.endpoints.grpcUrl ?? "", header })
const users = createClient(UserService, transport)
const accounts = createClient(AccountService, transport)
const sessions = createClient(SessionService, transport)
const tokens = createClient(VerificationTokenService, transport)
const expires = timestampFromDate(new Date("2036-01-01T00:00:00Z"))

type Options = () => { headers: Record<string, string> }

const writes: Record<string, (options: Options) => Promise<unknown>> = {
  createUser: (options) => users.createUser({ id: randomUUID(), email: `${randomUUID()}@example.com` }, options()),
  updateUser: (options) =>
    users.updateUser({ id: userOf(), name: randomUUID(), updateMask: { paths: ["name"] } }, options()),
  linkAccount: (options) =>
    accounts.linkAccount(
      { userId: userOf(), provider: "p", providerAccountId: randomUUID(), type: AccountType.OAUTH, accessToken: "a" },
      options(),
    ),
  createSession: (options) =>
    sessions.createSession({ sessionToken: randomUUID(), userId: userOf(), expires }, options()),
  "createVerificationToken + useVerificationToken": async (options) => {
    const key = { identifier: `${randomUUID()}@example.com`, token: randomUUID() }
    await tokens.createVerificationToken({ ...key, expires }, options())
    await tokens.useVerificationToken(key, options())
  },
}

// There are many more users than callers, because concurrent writes of the same row would wait for each other.
const userIds = Array.from({ length: 1000 }, () => randomUUID())
const userOf = () => userIds[Math.floor(Math.random() * userIds.length)] ?? ""

const authorization = { authorization: `Bearer ${apiKey}` }
const without: Options = () => ({ headers: authorization })
const withKey: Options = () => ({ headers: { ...authorization, "idempotency-key": randomUUID() } })

/**
 * The cost of a call: its time in milliseconds, and the CPU time of the service and of a local database in
 * microseconds.
 */
interface Cost {
  throughput: number
  p50: number
  service: number
  database: number
}

async function costOf(call: () => Promise<unknown>, callers: number): Promise<Cost> {
  const pids = [server.pid, ...(mysql.pid === null ? [] : [mysql.pid])]
  const { throughput, p50, serverCpu } = await closedLoop({ call, callers, warmUpMs: 500, windowMs, pids })
  const [service, database] = pids.map((_, index) => (serverCpu[index] ?? Number.NaN) * 100)
  return { throughput, p50, service: service ?? Number.NaN, database: database ?? Number.NaN }
}

function medians(costs: readonly Cost[]): Cost {
  const of = (name: keyof Cost) => median(costs.map((cost) => cost[name]))
  return { throughput: of("throughput"), p50: of("p50"), service: of("service"), database: of("database") }
}

try {
  for (const id of userIds) await users.createUser({ id }, without())
  process.stdout.write(`${mysql.version} ${JSON.stringify(mysql.settings)}\n`)
  const columns = ["write", "callers", "calls/s without", "with", "p50 without, ms", "with"]
  const cpuColumns = ["CPU of service and database without, µs", "with"]
  process.stdout.write(`| ${[...columns, ...cpuColumns].join(" | ")} |\n${"| --- ".repeat(8)}|\n`)
  for (const callers of values.callers.split(",").map(Number)) {
    for (const [write, call] of Object.entries(writes)) {
      const [bare, keyed]: [Cost[], Cost[]] = [[], []]
      for (let round = 0; round < Number(values.rounds); round++) {
        bare.push(await costOf(() => call(without), callers))
        keyed.push(await costOf(() => call(withKey), callers))
      }
      const [a, b] = [medians(bare), medians(keyed)]
      const cells = [a.throughput.toFixed(0), b.throughput.toFixed(0), a.p50.toFixed(2), b.p50.toFixed(2)]
      const cpu = [a, b].map(({ service, database }) => `${service.toFixed(0)} + ${database.toFixed(0)}`)
      process.stdout.write(`| ${[write, callers, ...cells, ...cpu].join(" | ")} |\n`)
    }
  }
} finally {
  transport.close()
  await server.stop()
  await mysql.pool.query(`DROP DATABASE ${name}`)
  await mysql.close()
}
