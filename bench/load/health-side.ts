// The watcher of bench/attack.ts: asks for health at both listeners, each time over a connection of its own.
//
//   fork("load/health-side.ts", [url of the gRPC listener, url of the HTTP listener])

import { header, paths } from "@authwire/test-support/attack/requests.js"
import { attackConnection, endOf } from "@authwire/test-support/attack/streams.js"

/** What was seen since the last time, in milliseconds. */
export interface HealthSight {
  worst: number
  asked: number
  failed: number
}

const [grpcUrl = "", httpUrl = ""] = process.argv.slice(2)
const everyMs = 100
const patienceMs = 10_000
const empty = Buffer.alloc(5)
let sight: HealthSight = { worst: 0, asked: 0, failed: 0 }
const waiting = new Set<Promise<void>>()

async function check(): Promise<boolean> {
  const connection = attackConnection(grpcUrl)
  const end = await endOf(connection.open(header(paths.check), empty), patienceMs)
  connection.close()
  return end === "0 NO_ERROR"
}

async function probe(): Promise<boolean> {
  const signal = AbortSignal.timeout(patienceMs)
  const { ok } = await fetch(`${httpUrl}/readyz`, { headers: { connection: "close" }, signal })
  return ok
}

async function ask(question: () => Promise<boolean>): Promise<void> {
  const mine = sight
  const begun = performance.now()
  mine.asked++
  const isWell = await question().catch(() => false)
  mine.worst = Math.max(mine.worst, performance.now() - begun)
  if (!isWell) mine.failed++
}

setInterval(() => {
  for (const question of [check, probe]) {
    const asking = ask(question)
    waiting.add(asking)
    asking.then(() => waiting.delete(asking))
  }
}, everyMs)
process.on("message", async () => {
  const seen = sight
  sight = { worst: 0, asked: 0, failed: 0 }
  // Those that have waited longest have no answer yet.
  await Promise.all(waiting)
  process.send?.(seen)
})
process.on("disconnect", () => process.exit())
process.send?.({})
