import { readFileSync } from "node:fs"
import { expect, test } from "@jest/globals"
import { maxInFlight } from "../../server/src/bootstrap/service.js"
import { everyMs, maxUnanswered } from "../../server/src/cluster/heartbeat.js"
import type { Option } from "../../server/src/config/option.js"
import { options } from "../../server/src/config/options.js"
import { maxWaitingBytes } from "../../server/src/logging/bounded-lines.js"
import { exitFlushMs } from "../../server/src/logging/exit-after-pending-lines.js"
import {
  maxCallsOfKey,
  maxWaitingOfKey,
  maxWaitMs,
  overloadedMaxWaitMs,
} from "../../server/src/overload/concurrency-limit.js"
import { linesPerSecond } from "../../server/src/rpc/rejection-log.js"
import { maxBytesOfUser } from "../../server/src/store/sql/authenticators.js"
import { longestTurnMs } from "../../server/src/store/sql/engine/sqlite.js"
import { writerPermitsOf } from "../../server/src/store/sql/transaction/connection-permits.js"
import { rowWaitersOf } from "../../server/src/store/sql/transaction/unit-of-work.js"
import { limits as all } from "../../server/src/transport/limits/limits.js"

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
    "time for a TLS handshake, for the first bytes, and for the first header of HTTP/1.1",
    "connection",
    `${seconds(defaultOf("handshake-timeout-ms"))} each`,
  ],
  ["time without a stream", "connection of HTTP/2", seconds(defaultOf("idle-timeout-ms"))],
  [
    "time without a stream, before a call with a valid key",
    "connection of HTTP/2",
    seconds(limits.unauthenticatedIdleMs),
  ],
  ["time between two requests", "connection of HTTP/1.1", seconds(limits.keepAliveMs)],
  ["time without progress while response bytes wait for the client", "socket of HTTP/1.1", seconds(limits.socketMs)],
  [
    "time to answer a PING while there are streams, and after the last one",
    "connection of HTTP/2",
    seconds(limits.pingMs),
  ],
  ["pipelined requests of HTTP/1.1 before the first is answered", "connection", count(limits.pipelinedRequests)],
  [
    "bad requests before a call with a valid key: without a valid key, for an unknown method, unreadable, or beyond the rate of methods that need no key",
    "connection",
    count(limits.unauthenticatedRequests),
  ],
  [
    "bad requests before a call with a valid key, in all",
    "connection of HTTP/2",
    count(limits.unauthenticatedRequestsAtMost),
  ],
  ["requests to the metrics listener", "connection", "1"],
  ["streams of HTTP/2", "connection", count(limits.maxConcurrentStreams)],
  ["unary calls whose requests are read", "connection", count(limits.streamsAtWork)],
  ["pipelines", "connection", count(limits.pipelines)],
  ["header", "request", bytes(limits.maxHeaderBytes)],
  ["message", "request", bytes(defaultOf("max-message-bytes"))],
  ["request bytes that are incomplete, or whose calls have not ended", "connection", bytes(limits.requestBytes)],
  ["these request bytes, as long as further requests are read", "connection", bytes(limits.requestBytesForMore)],
  ["overhead that each chunk of a request counts in addition", "chunk", bytes(limits.chunkBytes)],
  ["response bytes that the client has not read", "connection", bytes(limits.answerBytes)],
  ["these response bytes, as long as further calls are made", "connection", bytes(limits.answerBytesForMore)],
  [
    "these four limits of request and response bytes, in the same order",
    "key and worker",
    [limits.keyRequestBytes, limits.keyRequestBytesForMore, limits.keyAnswerBytes, limits.keyAnswerBytesForMore]
      .map(bytes)
      .join(", "),
  ],
  ["streams of HTTP/2, and requests of HTTP/1.1", "key and worker", count(limits.keyStreams)],
  ["duration of a unary call", "call", seconds(defaultOf("max-deadline-ms"))],
  ["duration of the stream of a unary call", "stream", seconds(defaultOf("max-deadline-ms") + limits.closeMs)],
  ["time for one message of a stream to arrive, or to be read by the client", "stream", seconds(limits.messageMs)],
  ["time to read the rejection of a call", "stream", seconds(limits.rejectionMs)],
  ["time that a stream lingers if it was answered before its request was complete", "stream", seconds(limits.lingerMs)],
  [
    "time that a connection of HTTP/1.1 lingers for the same reason",
    "connection of HTTP/1.1",
    seconds(limits.lingerHttp1Ms),
  ],
  [
    "bytes of the rest of such a request that are read and discarded",
    "stream that was rejected",
    bytes(limits.lingerBytes),
  ],
  [
    "bytes of the rest of such a request of HTTP/1.1 that are read and discarded",
    "connection of HTTP/1.1 whose request was rejected",
    bytes(limits.lingerHttp1Bytes),
  ],
  ["streams that linger at the same time", "connection", count(limits.lingeringStreams)],
  ["streams of health, which needs no key", "connection", count(limits.openStreams)],
  ["streams of health without a key, in all", "worker", count(limits.openStreamsInAll)],
  ["streams of reflection, which needs no key", "connection", count(limits.reflectionStreams)],
  ["streams of reflection without a key, in all", "worker", count(limits.reflectionStreamsInAll)],
  ["requests for health", "connection", perSecond(limits.healthPerSecond)],
  [
    "requests for health, including `GET /healthz` and `/readyz`, before a call with a valid key",
    "connection",
    `${count(limits.unauthenticatedHealthBurst)} at once, ${perSecond(limits.unauthenticatedHealthPerSecond)}`,
  ],
  ["requests to reflection, including those in a stream, in all", "worker", perSecond(limits.reflectionPerSecondInAll)],
  ["message to a method that needs no key", "request", bytes(limits.openRequestBytes)],
  ["active calls", "pipeline", count(maxInFlight)],
  ["active calls, of TokenService and of all other services", "worker", `${count(defaultOf("max-active-calls"))} each`],
  ["active calls of one key", "worker", count(maxCallsOfKey(defaultOf("max-active-calls")))],
  ["calls that wait to become active", "key and worker", count(maxWaiting.burst)],
  ["time that a call waits to become active", "call", seconds(maxWaitMs)],
  [
    "waiting calls, and waiting time, when calls of the key have waited without a break for longer than that time",
    "key and worker; call",
    `${count(maxWaiting.overloaded)}; ${seconds(overloadedMaxWaitMs)}`,
  ],
  ["calls of a method", "key and worker", perSecond(defaultOf("rate-limit"))],
  ["time that calls on SQLite keep a turn of the event loop busy", "worker", seconds(longestTurnMs)],
  ["log lines about calls that no key limits", "outcome and worker", perSecond(linesPerSecond)],
  ["buffered lines of the log, and of the audit log", "process", bytes(maxWaitingBytes)],
  ["time to write buffered lines at the end of the process", "process", seconds(exitFlushMs)],
  ["time without an answer of a worker to the primary", "worker", seconds(maxUnanswered * everyMs)],
  ["database connections in use", "worker", count(pool)],
  ["database connections of writers; a fifth is left to readers", "worker", count(writerPermitsOf(pool))],
  ["database connections of writers of one row", "worker", "1"],
  ["calls that wait for a database connection, or to write a row", "worker", count(defaultOf("database-queue-limit"))],
  ["calls that wait to write one row", "worker", count(rowWaitersOf(defaultOf("database-queue-limit")))],
  ["authenticators, which are listed together", "user", bytes(maxBytesOfUser)],
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
