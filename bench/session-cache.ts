// Measures the client's session cache: cached getSessionAndUser compared with the uncached call and with Drizzle, the
// time until a revocation through one replica reaches a client of another, and the memory of 100,000 entries. Prints
// the results. Needs a build, and MySQL as wire.ts does.
//
//   node --expose-gc bench/session-cache.ts [seconds]

import { setTimeout as delay } from "node:timers/promises"
import { createAuthwireClient } from "@authwire/client"
import { sessionCache } from "../client/dist/session-cache/cache.js"
import { sessionKey, userKey } from "../client/dist/session-cache/caching.js"
import { authwirePipeline } from "./contenders/authwire.ts"
import type { Contender } from "./contenders/contender.ts"
import { drizzleAdapter } from "./contenders/drizzle.ts"
import { sessionsPerUser, sessionToken, userId } from "./data/keys.ts"
import { loadDatabase } from "./data/loaded-database.ts"
import { openMysqlServer } from "./data/mysql-server.ts"
import { closedLoop } from "./load/closed-loop.ts"
import { operations } from "./load/operations.ts"
import { apiKey } from "./servers/key.ts"
import { type ServerProcess, startAuthwire } from "./servers/processes.ts"

const seconds = Number(process.argv[2] ?? 2)
const users = 300
const sessions = users * sessionsPerUser
const revocations = 200
const print = (text: string) => process.stdout.write(`${text}\n`)
const percentile = (times: number[], part: number) =>
  times.toSorted((one, other) => one - other)[Math.ceil(times.length * part) - 1] as number

const mysql = await openMysqlServer(0)
const drops: (() => Promise<unknown>)[] = [() => mysql.close()]
try {
  const own = await loadDatabase(mysql, "authwire", users, print)
  drops.unshift(() => own.drop())
  const plain = await loadDatabase(mysql, "plain", users, print)
  drops.unshift(() => plain.drop())
  const replicas: ServerProcess[] = []
  for (let n = 0; n < 2; n++) {
    const replica = await startAuthwire(own.url)
    replicas.push(replica)
    drops.unshift(() => replica.stop())
  }
  const [one, two] = replicas as [ServerProcess, ServerProcess]
  const cached = createAuthwireClient({
    url: two.endpoints.grpcUrl as string,
    apiKey,
    sessionCache: { maxStaleMs: 1000 },
  })
  drops.unshift(async () => cached.close())
  const contenders: Record<string, Contender> = {
    "Authwire, cached": { adapter: cached.adapter, close: async () => {} },
    "Authwire, pipeline": authwirePipeline(two.endpoints),
    "@auth/drizzle-adapter": drizzleAdapter({ databaseUrl: plain.url }),
  }
  for (const { close } of Object.values(contenders)) drops.unshift(close)
  const isFromMemory = async (token: string) => {
    let isThere = false
    const asked = cached.adapter.getSessionAndUser(token).then(() => {
      isThere = true
    })
    for (let turn = 0; turn < 5; turn++) await undefined
    const fromMemory = isThere
    await asked
    return fromMemory
  }
  while (!(await isFromMemory(sessionToken(0)))) await delay(10)
  for (let n = 0; n < sessions; n++) await cached.adapter.getSessionAndUser(sessionToken(n))

  for (const callers of [1, 32]) {
    for (const [name, { adapter }] of Object.entries(contenders)) {
      const call = operations.getSessionAndUser({ adapter, users, random: Math.random })
      const options = { call, callers, warmUpMs: seconds * 250, windowMs: seconds * 1000, pids: [] }
      const { throughput, p50, p99 } = await closedLoop(options)
      print(
        `${name}, ${callers} callers: ${Math.round(throughput)} calls/s, p50 ${p50.toFixed(4)} ms, p99 ${p99.toFixed(4)} ms`,
      )
    }
  }

  const revoker = createAuthwireClient({ url: one.endpoints.grpcUrl as string, apiKey })
  drops.unshift(async () => revoker.close())
  for (const awaitCaches of [false, true]) {
    const known: number[] = []
    const answered: number[] = []
    for (let n = 0; n < revocations; n++) {
      const token = sessionToken(n + (awaitCaches ? revocations : 0))
      while (!(await isFromMemory(token))) await delay(5)
      const begun = performance.now()
      const revoked = revoker.sessions.deleteSession({ sessionToken: token, awaitCaches }).then(() => {
        answered.push(performance.now() - begun)
      })
      while ((await cached.adapter.getSessionAndUser(token)) !== null) await delay(1)
      known.push(performance.now() - begun)
      await revoked
    }
    const told = (times: number[]) =>
      `p50 ${percentile(times, 0.5).toFixed(0)} ms, p99 ${percentile(times, 0.99).toFixed(0)} ms`
    print(
      `${revocations} revocations${awaitCaches ? " with await_caches" : ""}: answered ${told(answered)}; known to the other replica's client ${told(known)}`,
    )
  }

  const before = memory()
  const cache = sessionCache({ size: 100_000, now: () => 0, timeOfDay: Date.now })
  cache.grant(1)
  const sample = await cached.adapter.getSessionAndUser(sessionToken(sessions - 1))
  if (!sample) throw new Error("a lookup finds nothing")
  for (let n = 0; n < 100_000; n++) {
    const [token, user] = [sessionToken(n), userId(n)]
    const keys = [sessionKey(token), userKey(user)]
    const answer = {
      session: { ...sample.session, sessionToken: token, userId: user },
      user: { ...sample.user, id: user, email: `user.${n}@example.com` },
      keys,
    }
    cache.keep(cache.beginRead(), answer)
  }
  const grown = memory() - before
  // The cache is in use until here.
  cache.clear()
  print(`100000 entries: ${(grown / 2 ** 20).toFixed(0)} MiB`)
} finally {
  for (const drop of drops) await drop()
}

function memory(): number {
  globalThis.gc?.()
  globalThis.gc?.()
  return process.memoryUsage().heapUsed
}
