// The client of bench/soak.ts: does what the parent says. It is inspected, so that its heap can be seen.
//
//   fork("load/soak-side.ts", [url of the gRPC listener])

import { createAuthwireClient } from "@authwire/client"
import { measuredExpires, sessionsPerUser, sessionToken, userId } from "../data/keys.ts"
import { apiKey } from "../servers/key.ts"
import { type OperationName, operations } from "./operations.ts"
import { randomNumbers } from "./statistics.ts"

export type SoakRequest =
  | { do: "load"; users: number; callers: number }
  | { do: "stop" }
  | { do: "cancel"; users: number; calls: number }

const [url = ""] = process.argv.slice(2)
const client = createAuthwireClient({ url, apiKey })
const counts = { calls: 0, failures: 0 }
let running = false
let finished: Promise<unknown> = Promise.resolve()

/** As often as applications call it, more or less; the whole is mostly reading. */
const mix: [OperationName, number][] = [
  ["getSessionAndUser", 70],
  ["getUserByAccount", 10],
  ["createSession + deleteSession", 10],
  ["sign-in, known user", 5],
  ["sign-in, new user", 3],
]

function load(users: number, callers: number) {
  const random = randomNumbers(1)
  const situation = { adapter: client.adapter, users, batch: "", batchSize: 0, random }
  const calls = mix.flatMap(([name, share]) => Array.from({ length: share }, () => operations[name](situation)))
  calls.push(verify, absent)
  running = true
  const caller = async () => {
    while (running) {
      try {
        await calls[Math.floor(random() * calls.length)]?.()
      } catch {
        counts.failures++
      }
      counts.calls++
    }
  }
  finished = Promise.all(Array.from({ length: callers }, caller))
}

/** An e-mail link, from its making to its use. */
async function verify() {
  const token = { identifier: `${crypto.randomUUID()}@example.com`, token: crypto.randomUUID() }
  await client.adapter.createVerificationToken?.({ ...token, expires: measuredExpires })
  if (!(await client.adapter.useVerificationToken?.(token))) throw new Error("a token is missing")
}

/** What is not there, which is an error on the wire. */
async function absent() {
  if (await client.adapter.getSessionAndUser?.(crypto.randomUUID())) throw new Error("a session is found")
}

/** Calls that are given up: some before they left, some on their way, some when their answer is almost there. */
async function cancel(users: number, calls: number) {
  const random = randomNumbers(2)
  let left = calls
  const caller = async () => {
    while (left-- > 0) {
      const controller = new AbortController()
      const token = sessionToken(Math.floor(random() * users * sessionsPerUser))
      const call =
        random() < 0.5
          ? client.sessions.getSessionAndUser({ sessionToken: token }, { signal: controller.signal })
          : client.users.getUser({ id: userId(0) }, { signal: controller.signal })
      const way = random()
      if (way < 0.3) controller.abort()
      else if (way < 0.6) setImmediate(() => controller.abort())
      else setTimeout(() => controller.abort(), 1)
      await call.catch(() => {})
    }
  }
  await Promise.all(Array.from({ length: 64 }, caller))
}

process.on("message", async (request: SoakRequest) => {
  if (request.do === "load") load(request.users, request.callers)
  if (request.do === "stop") {
    running = false
    await finished
  }
  if (request.do === "cancel") await cancel(request.users, request.calls)
  process.send?.(counts)
})
process.on("disconnect", () => process.exit())
// For whoever looks in from outside.
Object.assign(globalThis, { soakCounts: counts })
process.send?.(counts)
