// A sending process of bench/flood.ts.
//
//   startChild("flood-side.ts", [url of the gRPC listener, url of the HTTP listener, users, API key])

import { setTimeout as delay } from "node:timers/promises"
import {
  type Heard,
  type RawCalls,
  rawConnectCalls,
  rawUnaryCalls,
} from "@authwire/test-support/connections/raw-calls.js"
import { rawPipelineCalls } from "@authwire/test-support/connections/raw-pipeline-calls.js"
import { sessionsPerUser, sessionToken } from "../../data/keys.ts"
import { answerParent } from "../child.ts"
import { type Way, ways } from "../probes.ts"
import { openTimes, randomNumbers } from "../statistics.ts"

/** The outcomes of the calls that were sent in one way. */
export interface Sent {
  offered: number
  /** The number of calls that the transport accepted. The others were held back because the service did not read. */
  sent: number
  ok: number
  rejected: number
  other: number
  /** Milliseconds from sending to the answer. */
  okP50: number
  okP99: number
  rejectedP50: number
  rejectedP99: number
}

/** A fixed rate of calls for each way, whatever the answers are. */
export interface FloodRequest {
  perSecond: Record<Way, number>
  ms: number
}

const [grpcUrl = "", httpUrl = "", users = "0", apiKey = ""] = process.argv.slice(2)
const random = randomNumbers(3)
const tokens = Array.from({ length: 2_000 }, () => sessionToken(Math.floor(random() * Number(users) * sessionsPerUser)))
/** The number of connections of each way in one of the two senders. For Connect they are HTTP/1.1 connections. */
const connections = { pipeline: 4, unary: 2, connect: 4 }

/** The outcomes of calls that the service rejects. */
const rejections = ["OVERLOADED again", "REFUSED_STREAM", "API_KEY_INVALID"]

const tickMs = 4

function open(way: Way, heard: Heard): RawCalls[] {
  if (way === "connect") return [rawConnectCalls(httpUrl, tokens, heard, { apiKey, connections: connections.connect })]
  const make = way === "pipeline" ? rawPipelineCalls : rawUnaryCalls
  return Array.from({ length: connections[way] }, () => make(grpcUrl, tokens, heard, apiKey))
}

async function flood({ perSecond, ms }: FloodRequest): Promise<Record<Way, Sent>> {
  const sides = ways.map((way) => {
    const times = { ok: openTimes(), rejected: openTimes(), other: openTimes() }
    const heard = (outcome: string, ms: number) =>
      times[outcome === "ok" ? "ok" : rejections.includes(outcome) ? "rejected" : "other"].add(ms)
    return { way, times, lines: open(way, heard), offered: 0, sent: 0 }
  })
  const begun = performance.now()
  for (let elapsed = 0; elapsed < ms; ) {
    await delay(tickMs)
    elapsed = Math.min(performance.now() - begun, ms)
    for (const side of sides) {
      let left = Math.floor((perSecond[side.way] * elapsed) / 1000) - side.offered
      side.offered += left
      for (const [index, line] of side.lines.entries()) {
        const share = Math.ceil(left / (side.lines.length - index))
        side.sent += line.send(share)
        left -= share
      }
    }
  }
  // Like an attacker, it disconnects without waiting for the remaining answers.
  const results = sides.map(({ way, times: { ok, rejected, other }, offered, sent }): [Way, Sent] => [
    way,
    {
      ...{ offered, sent, ok: ok.count(), rejected: rejected.count(), other: other.count() },
      ...{ okP50: ok.percentile(50), okP99: ok.percentile(99) },
      ...{ rejectedP50: rejected.percentile(50), rejectedP99: rejected.percentile(99) },
    },
  ])
  for (const { lines } of sides) for (const line of lines) line.close()
  return Object.fromEntries(results) as Record<Way, Sent>
}

answerParent(flood)
