// A sender of bench/flood.ts: does what the parent says.
//
//   fork("load/flood-side.ts", [url of the gRPC listener, url of the HTTP listener, users])

import {
  type Heard,
  type RawCalls,
  rawConnectCalls,
  rawPipelineCalls,
  rawUnaryCalls,
} from "@authwire/test-support/raw-calls.js"
import { sessionsPerUser, sessionToken } from "../data/keys.ts"
import { apiKey } from "../servers/key.ts"
import { percentile, randomNumbers } from "./statistics.ts"
import { type Sent, type Way, ways } from "./ways.ts"

export type FloodRequest =
  /** So many calls at a time through a way, each sent when another one is answered. */
  | { do: "closed"; way: Way; callers: number; ms: number }
  /** So many calls a second through each way, whatever is answered. */
  | { do: "open"; perSecond: Record<Way, number>; ms: number }

const [grpcUrl = "", httpUrl = "", users = "0"] = process.argv.slice(2)
const random = randomNumbers(3)
const tokens = Array.from({ length: 2_000 }, () => sessionToken(Math.floor(random() * Number(users) * sessionsPerUser)))
/** Connections of each way; a connection of Connect is one of HTTP/1.1. */
const connections = { pipeline: 4, unary: 2, connect: 32 }

/** How those end that the service does not let in. */
const rejections = ["OVERLOADED again", "REFUSED_STREAM"]

const tickMs = 4

function open(way: Way, heard: Heard): RawCalls[] {
  if (way === "connect") return [rawConnectCalls(httpUrl, tokens, heard, { apiKey, connections: connections.connect })]
  const make = way === "pipeline" ? rawPipelineCalls : rawUnaryCalls
  return Array.from({ length: connections[way] }, () => make(grpcUrl, tokens, heard, apiKey))
}

function tally() {
  const times: Record<"ok" | "overloaded" | "other", number[]> = { ok: [], overloaded: [], other: [] }
  return {
    times,
    heard(outcome: string, ms: number) {
      times[outcome === "ok" ? "ok" : rejections.includes(outcome) ? "overloaded" : "other"].push(ms)
    },
    result(offered: number, sent: number): Sent {
      const { ok, overloaded, other } = times
      const of = (these: number[], share: number) =>
        these.length === 0 ? 0 : percentile(Float64Array.from(these).sort(), share)
      return {
        ...{ offered, sent, ok: ok.length, overloaded: overloaded.length, other: other.length },
        ...{ okP50: of(ok, 0.5), okP99: of(ok, 0.99) },
        ...{ rejectedP50: of(overloaded, 0.5), rejectedP99: of(overloaded, 0.99) },
      }
    },
  }
}

async function closed({ way, callers, ms }: FloodRequest & { do: "closed" }): Promise<Record<string, Sent>> {
  const seen = tally()
  const counting = { is: false }
  const lines = open(way, (outcome, took) => counting.is && seen.heard(outcome, took))
  const each = Math.ceil(callers / lines.length)
  const fill = setInterval(() => {}, 1_000)
  const begun = performance.now()
  let end = false
  const turn = () => {
    if (end) return
    for (const line of lines) line.send(each - line.waiting)
    setImmediate(turn)
  }
  turn()
  await new Promise((resolve) => setTimeout(resolve, ms / 4))
  counting.is = true
  await new Promise((resolve) => setTimeout(resolve, begun + ms * 1.25 - performance.now()))
  end = true
  clearInterval(fill)
  for (const line of lines) line.close()
  return { [way]: seen.result(seen.times.ok.length, seen.times.ok.length) }
}

async function flood({ perSecond, ms }: FloodRequest & { do: "open" }): Promise<Record<string, Sent>> {
  const sides = ways.map((way) => {
    const seen = tally()
    return { way, seen, lines: open(way, seen.heard), offered: 0, sent: 0, turn: 0 }
  })
  const begun = performance.now()
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      const elapsed = Math.min(performance.now() - begun, ms)
      for (const side of sides) {
        const due = Math.floor((perSecond[side.way] * elapsed) / 1000) - side.offered
        side.offered += due
        let left = due
        for (const [index, line] of side.lines.entries()) {
          const share = Math.ceil(left / (side.lines.length - index))
          side.sent += line.send(share)
          left -= share
        }
      }
      if (elapsed < ms) return
      clearInterval(timer)
      resolve()
    }, tickMs)
  })
  // An attacker goes away with what is not answered.
  const results = sides.map(({ way, seen, offered, sent }) => [way, seen.result(offered, sent)])
  for (const { lines } of sides) for (const line of lines) line.close()
  return Object.fromEntries(results)
}

process.on("message", async (request: FloodRequest) => {
  process.send?.(await (request.do === "closed" ? closed(request) : flood(request)))
})
process.on("disconnect", () => process.exit())
process.send?.({})
