import { readFileSync } from "node:fs"
import { expect, test } from "@jest/globals"
import { maxInFlight } from "../../server/src/bootstrap/service.js"
import type { Option } from "../../server/src/cli/config/option.js"
import { options } from "../../server/src/cli/config/options.js"
import { everyMs, maxUnanswered } from "../../server/src/cluster/heartbeat.js"
import { maxWaitingBytes } from "../../server/src/logging/bounded-lines.js"
import { lastLinesMs } from "../../server/src/logging/exit-after-pending-lines.js"
import {
  maxCallsOfKey,
  maxWaitingOfKey,
  maxWaitMs,
  overloadedMaxWaitMs,
} from "../../server/src/overload/concurrency-limit.js"
import { linesPerSecond } from "../../server/src/rpc/rejection-log.js"
import { rowWaitersOf, writerPermitsOf } from "../../server/src/store/sql/transaction/unit-of-work.js"
import { limits as all } from "../../server/src/transport/limits.js"

/** The limits of the code, and which of them the table below has used. */
const told = new Set<string | symbol>()
const limits = new Proxy(all, {
  get(target, name: keyof typeof all) {
    told.add(name)
    return target[name]
  },
})

const defaultOf = (flag: string): number => {
  const option = Object.values<Option>(options).find((one) => one.flag === flag)
  if (option?.default === undefined) throw new Error(`no default of --${flag}`)
  return Number(option.default)
}

const count = (value: number) => value.toLocaleString("en-US")
const seconds = (ms: number) => `${ms / 1000} s`
const bytes = (value: number) => (value < 1024 * 1024 ? `${value / 1024} KiB` : `${value / 1024 / 1024} MiB`)
const perSecond = (value: number) => `${count(value)} a second`

const maxWaiting = maxWaitingOfKey(defaultOf("max-active-calls"))
const pool = defaultOf("database-pool-size")

/** The expected rows of the table in SECURITY.md, in their order. */
const bounds = [
  ["connections", "listener and worker", count(defaultOf("max-connections"))],
  [
    "TLS handshake; first bytes; header of HTTP/1.1",
    "connection",
    `${seconds(defaultOf("handshake-timeout-ms"))} each`,
  ],
  ["time without a stream", "connection of HTTP/2", seconds(defaultOf("idle-timeout-ms"))],
  ["the same, before a call with a valid key", "connection of HTTP/2", seconds(limits.strangerIdleMs)],
  ["time between two requests", "connection of HTTP/1.1", seconds(limits.keepAliveMs)],
  ["time in which nothing is taken of what waits", "socket of HTTP/1.1", seconds(limits.socketMs)],
  ["time to answer a PING, while there are streams", "connection of HTTP/2", seconds(limits.pingMs)],
  ["requests of HTTP/1.1 before the first is answered", "connection", count(limits.pipelinedRequests)],
  [
    "requests without a valid key, for no method, that cannot be read, or beyond the rate of methods that need no key, before a call with a valid key",
    "connection",
    count(limits.strangerRequests),
  ],
  ["the same", "connection of HTTP/2", count(limits.strangerRequestsAtMost)],
  ["requests to the metrics listener", "connection", "1"],
  ["streams of HTTP/2", "connection", count(limits.maxConcurrentStreams)],
  ["unary calls whose requests are read and answered; others wait", "connection", count(limits.streamsAtWork)],
  ["pipelines", "connection", count(limits.pipelines)],
  ["header", "request", bytes(limits.maxHeaderBytes)],
  ["message", "request", bytes(defaultOf("max-message-bytes"))],
  ["requests that are not whole, or whose calls are not over", "connection", bytes(limits.requestBytes)],
  ["the same, while further requests are read", "connection", bytes(limits.requestBytesForMore)],
  ["what each chunk of them counts beside its bytes", "chunk", bytes(limits.chunkBytes)],
  ["answers that are not taken", "connection", bytes(limits.answerBytes)],
  ["the same, while further calls are made", "connection", bytes(limits.answerBytesForMore)],
  [
    "these requests and answers, in the same order",
    "key and worker",
    [limits.keyRequestBytes, limits.keyRequestBytesForMore, limits.keyAnswerBytes, limits.keyAnswerBytesForMore]
      .map(bytes)
      .join(", "),
  ],
  ["streams of HTTP/2, and requests of HTTP/1.1", "key and worker", count(limits.keyStreams)],
  ["time until a unary call is over", "call", seconds(defaultOf("max-deadline-ms"))],
  ["time until its stream is closed", "stream", seconds(defaultOf("max-deadline-ms") + limits.closeMs)],
  ["time for one message of a stream to arrive, or to be taken", "stream", seconds(limits.messageMs)],
  ["time to take the answer to a call that was rejected", "stream", seconds(limits.rejectionMs)],
  [
    "time that a stream stays open when it was answered before its request was whole",
    "stream",
    seconds(limits.lingerMs),
  ],
  ["the same", "connection of HTTP/1.1", seconds(limits.lingerHttp1Ms)],
  ["rest of such a request that is read, and thrown away", "stream that was rejected", bytes(limits.lingerBytes)],
  ["the same", "connection of HTTP/1.1 whose request was rejected", bytes(limits.lingerHttp1Bytes)],
  ["streams that stay open so", "connection", count(limits.lingeringStreams)],
  ["streams of health, which needs no key", "connection", count(limits.openStreams)],
  ["the same, in all", "worker", count(limits.openStreamsInAll)],
  ["streams of reflection, which needs no key", "connection", count(limits.reflectionStreams)],
  ["the same, in all", "worker", count(limits.reflectionStreamsInAll)],
  ["requests for health", "connection", perSecond(limits.healthPerSecond)],
  [
    "the same, also `GET /healthz` and `/readyz`, before a call with a valid key",
    "connection",
    `${count(limits.strangerHealthAtOnce)} at once, ${perSecond(limits.strangerHealthPerSecond)}`,
  ],
  ["requests to reflection, also in a stream, in all", "worker", perSecond(limits.reflectionPerSecondInAll)],
  ["message to these methods", "request", bytes(limits.openRequestBytes)],
  ["calls at the same time", "pipeline", count(maxInFlight)],
  [
    "calls at the same time, of TokenService and of all others",
    "worker",
    `${count(defaultOf("max-active-calls"))} each`,
  ],
  ["of them, those of one key", "worker", count(maxCallsOfKey(defaultOf("max-active-calls")))],
  ["calls that wait for such a place", "key and worker", count(maxWaiting.burst)],
  ["time that they wait", "call", seconds(maxWaitMs)],
  [
    "both, when calls of the key have waited for that long without a break",
    "key and worker; call",
    `${count(maxWaiting.overloaded)}; ${seconds(overloadedMaxWaitMs)}`,
  ],
  ["calls of a method", "key and worker", perSecond(defaultOf("rate-limit"))],
  ["lines of the log about calls that no key limits", "reason and worker", perSecond(linesPerSecond)],
  ["lines that wait for whoever reads the log, and as many of the audit log", "process", bytes(maxWaitingBytes)],
  ["time in which they are still written at the end", "process", seconds(lastLinesMs)],
  ["time in which a worker does not answer the primary", "worker", seconds(maxUnanswered * everyMs)],
  ["connections to the database that calls use at the same time", "worker", count(pool)],
  ["of them, those of writers; a fifth is left to readers", "worker", count(writerPermitsOf(pool))],
  ["of them, those of writers of one row", "worker", "1"],
  [
    "calls that wait for such a connection, or for their turn to write a row",
    "worker",
    count(defaultOf("database-queue-limit")),
  ],
  ["of them, those that wait to write one row", "worker", count(rowWaitersOf(defaultOf("database-queue-limit")))],
]

function tableOf(text: string): string[][] {
  const section = text.split("### Denial of service")[1]?.split("\n## ")[0] ?? ""
  return section
    .split("\n")
    .filter((line) => line.startsWith("| "))
    .slice(2)
    .map((line) =>
      line
        .slice(1, -1)
        .split("|")
        .map((cell) => cell.trim()),
    )
}

const table = tableOf(readFileSync(new URL("../../SECURITY.md", import.meta.url), "utf8"))

test("the limits in SECURITY.md are those of the code", () => {
  expect(table.map((row) => row.slice(0, 3))).toEqual(bounds)
})

test("every limit of the code is documented, and every option that the table names exists", () => {
  expect([...told].sort()).toEqual(Object.keys(all).sort())
  const flags = table.flatMap((row) => [...(row[4] ?? "").matchAll(/`--([a-z-]+)`/g)].map(([, flag]) => flag))
  expect(flags.length).toBeGreaterThan(8)
  for (const flag of flags) expect(Object.values<Option>(options).map((one) => one.flag)).toContain(flag)
})
