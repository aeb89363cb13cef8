// Measures the call that a gateway makes for each request: Authorization/Check and GET /v1/authorize, compared with
// getSessionAndUser, one call at a time, in turns. Needs a build, and MySQL as bench/wire.ts does. It creates its own
// database and removes it.
//
//   node bench/gateway.ts [--rounds 7] [--seconds 2]

import { randomUUID } from "node:crypto"
import http from "node:http"
import { parseArgs } from "node:util"
import { createAuthwireClient, grpcTransport } from "@authwire/client"
import { Authorization } from "@authwire/proto/envoy"
import { createClient } from "@connectrpc/connect"
import { openMysqlServer } from "./data/mysql-server.ts"
import { cpuSeconds } from "./load/cpu.ts"
import { median } from "./load/statistics.ts"
import { apiKey } from "./servers/key.ts"
import { startAuthwire } from "./servers/processes.ts"

const { values } = parseArgs({
  options: { rounds: { type: "string", default: "7" }, seconds: { type: "string", default: "2" } },
})
const rounds = Number(values.rounds)
const windowMs = Number(values.seconds) * 1000
const people = 200

const mysql = await openMysqlServer()
const database = `authwire_bench_gateway_${process.pid}`
await mysql.pool.query(`CREATE DATABASE ${database}`)
try {
  const server = await startAuthwire(mysql.url(database), { args: ["--migrate"] })
  const { grpcUrl = "", httpUrl = "" } = server.endpoints
  const transport = grpcTransport({ url: grpcUrl })
  const client = createAuthwireClient({ url: grpcUrl, apiKey, transport, timeoutMs: 60_000 })
  const gateway = createClient(Authorization, transport)
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })

  const expires = new Date(Date.now() + 86_400_000)
  const signIn = async () => {
    const email = `${randomUUID()}@example.com`
    const { id: userId } = await client.adapter.createUser({ id: randomUUID(), email, emailVerified: null })
    const sessionToken = randomUUID()
    await client.adapter.createSession({ sessionToken, userId, expires })
    return sessionToken
  }
  const tokens: string[] = []
  while (tokens.length < people) tokens.push(...(await Promise.all(Array.from({ length: 10 }, signIn))))
  const anyToken = () => tokens[Math.floor(Math.random() * people)] ?? ""
  const cookieOf = (token: string) => `theme=dark; _ga=GA1.1.1234567890.1700000000; authjs.session-token=${token}`

  // The headers that Chromium sends and Envoy forwards.
  const browser = {
    accept: "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
    "accept-encoding": "gzip, deflate, br, zstd",
    "accept-language": "en-GB,en;q=0.9",
    "cache-control": "max-age=0",
    "sec-ch-ua": '"Chromium";v="140", "Not=A?Brand";v="24"',
    "sec-ch-ua-mobile": "?0",
    "sec-ch-ua-platform": '"Linux"',
    "sec-fetch-dest": "document",
    "sec-fetch-mode": "navigate",
    "sec-fetch-site": "same-origin",
    "sec-fetch-user": "?1",
    "upgrade-insecure-requests": "1",
    "user-agent":
      "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",
    "x-forwarded-for": "203.0.113.7",
    "x-forwarded-proto": "https",
  }
  const request = { method: "GET", scheme: "https", host: "app.example.com", path: "/orders?page=2" }
  const pseudo = { ":method": "GET", ":scheme": "https", ":authority": request.host, ":path": request.path }
  const headersOf = () => ({ ...pseudo, ...browser, "x-request-id": randomUUID(), cookie: cookieOf(anyToken()) })
  const authorization = { headers: { authorization: `Bearer ${apiKey}` } }
  const settings = { sign_in: "/api/auth/signin", headers: "x-auth-email=email" }

  const operations: Record<string, () => Promise<void>> = {
    async getSessionAndUser() {
      const { user } = await client.sessions.getSessionAndUser({ sessionToken: anyToken() })
      if (user === undefined) throw new Error("a lookup finds nothing")
    },
    async "Authorization/Check"() {
      const asked = { contextExtensions: settings, request: { http: { ...request, headers: headersOf() } } }
      const { httpResponse } = await gateway.check({ attributes: asked }, authorization)
      if (httpResponse.case !== "okResponse") throw new Error("a session is not found")
    },
    "GET /v1/authorize": () =>
      new Promise((resolve, reject) => {
        const path = `/v1/authorize?${new URLSearchParams(settings)}`
        const headers = {
          ...browser,
          cookie: cookieOf(anyToken()),
          "x-api-key": apiKey,
          "x-original-uri": request.path,
        }
        http
          .get(`${httpUrl}${path}`, { agent, headers }, (response) => {
            response.resume()
            if (response.statusCode !== 200) reject(new Error(`a session is not found: ${response.statusCode}`))
            response.once("end", resolve)
          })
          .once("error", reject)
      }),
  }

  const measure = async (call: () => Promise<void>, ms: number) => {
    const times: number[] = []
    const before = cpuSeconds(server.pid) ?? Number.NaN
    for (const end = performance.now() + ms; performance.now() < end; ) {
      const start = performance.now()
      await call()
      times.push(performance.now() - start)
    }
    const cpuMs = (((cpuSeconds(server.pid) ?? Number.NaN) - before) * 1000) / times.length
    return { p50: median(times), cpuMs }
  }
  const names = Object.keys(operations)
  const seen = new Map(names.map((name) => [name, [] as { p50: number; cpuMs: number }[]]))
  for (const name of names) await measure(operations[name] as () => Promise<void>, windowMs)
  for (let round = 0; round < rounds; round++) {
    const order = names.map((_, at) => names[(at + round) % names.length] as string)
    for (const name of order) seen.get(name)?.push(await measure(operations[name] as () => Promise<void>, windowMs))
  }

  const baseline = seen.get("getSessionAndUser") ?? []
  process.stdout.write(`${mysql.version}, one caller, ${rounds} rounds of ${windowMs / 1000} s\n`)
  for (const [name, windows] of seen) {
    const p50 = median(windows.map((one) => one.p50))
    const ratios = windows.map((one, round) => one.p50 / (baseline[round]?.p50 ?? Number.NaN)).sort((a, b) => a - b)
    const cpu = median(windows.map((one) => one.cpuMs))
    const ratio = `${median(ratios).toFixed(2)} (${ratios[0]?.toFixed(2)} to ${ratios.at(-1)?.toFixed(2)})`
    process.stdout.write(
      `${name.padEnd(20)} p50 ${p50.toFixed(3)} ms, ${ratio} of getSessionAndUser; server ${cpu.toFixed(3)} ms of CPU a call\n`,
    )
  }
  agent.destroy()
  client.close()
  transport.close()
  await server.stop()
} finally {
  await mysql.pool.query(`DROP DATABASE ${database}`)
  await mysql.close()
}
