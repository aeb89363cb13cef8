// The observing process of bench/attack.ts. It checks the health of both listeners, each time over a new connection.
//
//   startChild("health-side.ts", [url of the gRPC listener, url of the HTTP listener])

import { answerParent } from "../child.ts"
import { healthQuestions } from "../health.ts"

/** The results since the previous request. `worst` is in milliseconds. */
export interface HealthSight {
  worst: number
  asked: number
  failed: number
}

const [grpcUrl = "", httpUrl = ""] = process.argv.slice(2)
const everyMs = 100
const health = healthQuestions(grpcUrl, httpUrl, 10_000)
let sight: HealthSight = { worst: 0, asked: 0, failed: 0 }
const waiting = new Set<Promise<void>>()

async function ask(question: () => Promise<boolean>): Promise<void> {
  const mine = sight
  const begun = performance.now()
  mine.asked++
  const isWell = await question().catch(() => false)
  mine.worst = Math.max(mine.worst, performance.now() - begun)
  if (!isWell) mine.failed++
}

setInterval(() => {
  for (const question of [health.grpc, () => health.http("/readyz")]) {
    const asking = ask(question)
    waiting.add(asking)
    asking.then(() => waiting.delete(asking))
  }
}, everyMs)
answerParent(async (): Promise<HealthSight> => {
  const seen = sight
  sight = { worst: 0, asked: 0, failed: 0 }
  // Includes the checks that are still waiting for an answer, which may be the slowest.
  await Promise.all(waiting)
  return seen
})
