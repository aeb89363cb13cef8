import { maxInFlight } from "../server/dist/bootstrap/service.js"
import { everyMs, maxUnanswered } from "../server/dist/cluster/heartbeat.js"
import { type Name, options } from "../server/dist/config/options.js"
import { maxWaitingBytes } from "../server/dist/logging/bounded-lines.js"
import { exitFlushMs } from "../server/dist/logging/exit-after-pending-lines.js"
import { maxWaitingOfKey, maxWaitMs, overloadedMaxWaitMs } from "../server/dist/overload/concurrency-limit.js"
import { linesPerSecond } from "../server/dist/rpc/rejection-log.js"
import { maxBytesOfUser } from "../server/dist/store/sql/authenticators.js"
import { longestTurnMs } from "../server/dist/store/sql/engine/sqlite.js"
import { examinedAtOnce, slicesOfPage } from "../server/dist/store/sql/query/page.js"
import { fewOf, writerPermitsOf } from "../server/dist/store/sql/transaction/connection-permits.js"
import { rowWaitersOf } from "../server/dist/store/sql/transaction/unit-of-work.js"
import { countedAtOnce } from "../server/dist/store/sql/users/user-lists.js"
import { limits } from "../server/dist/transport/limits/limits.js"
import { cacheMessages, type SharedLimit, sharedLimits, sharesInTurns } from "../server/dist/util/shared-limits.js"

const count = (value: number) => value.toLocaleString("en-US")
const seconds = (ms: number) => `${ms / 1000} s`
const bytes = (value: number) => (value < 1024 * 1024 ? `${value / 1024} KiB` : `${value / 1024 / 1024} MiB`)
const perSecond = (value: number) => `${count(value)} a second`
const flag = (name: Name) => `\`--${options[name].flag}\``
const preset = (name: Name) => Number(options[name].default)

const pool = preset("databasePoolSize")
const queue = preset("databaseQueueLimit")
const waiting = maxWaitingOfKey(preset("maxActiveCalls"))

/** A limit, what it is counted for, its value, and what happens beyond it. */
type Row = readonly [limit: string, per: string, value: string, beyond: string]

/** The limits, by the headings of the page. The text of a limit names the option that changes it. */
const tables: Readonly<Record<string, readonly Row[]>> = {
  Connections: [
    [`connections (${flag("maxConnections")})`, "listener and worker", count(preset("maxConnections")), "closed"],
    [
      `time for a TLS handshake, for the first bytes, and for the first header of HTTP/1.1 (${flag("handshakeTimeoutMs")})`,
      "connection",
      `${seconds(preset("handshakeTimeoutMs"))} each`,
      "closed",
    ],
    [
      `time without a stream of HTTP/2 (${flag("idleTimeoutMs")})`,
      "connection",
      seconds(preset("idleTimeoutMs")),
      "closed with a GOAWAY",
    ],
    [
      "the same, before a call with a valid key",
      "connection",
      seconds(limits.unauthenticatedIdleMs),
      "closed with a GOAWAY",
    ],
    [
      `time between two requests of HTTP/1.1 (${flag("idleTimeoutMs")} if less, plus ${flag("handshakeTimeoutMs")} for the next header)`,
      "connection",
      seconds(limits.keepAliveMs),
      "closed",
    ],
    ["time without progress while response bytes of HTTP/1.1 wait", "connection", seconds(limits.socketMs), "closed"],
    [
      "time to answer a PING while there are streams, and after the last one",
      "connection",
      seconds(limits.pingMs),
      "closed",
    ],
    [
      "pipelined requests of HTTP/1.1 before the first is answered",
      "connection",
      count(limits.pipelinedRequests),
      "closed",
    ],
    [
      "bad requests before a call with a valid key: without one, for an unknown method, unreadable, or beyond the rate of methods that need no key",
      "connection",
      count(limits.unauthenticatedRequests),
      "the client is told to reconnect; HTTP/1.1: closed, and a further one gets no answer",
    ],
    [
      "the same, in all",
      "connection of HTTP/2",
      count(limits.unauthenticatedRequestsAtMost),
      "closed; HTTP/2 refuses later requests",
    ],
    ["requests to the metrics listener", "connection", "1", "closed; a further one gets no answer"],
    ["streams of HTTP/2", "connection", count(limits.maxConcurrentStreams), "refused by HTTP/2"],
    ["unary calls whose requests are read", "connection", count(limits.streamsAtWork), "further calls wait unread"],
    ["pipelines", "connection", count(limits.pipelines), "OVERLOADED"],
  ],
  "Bytes of requests and responses": [
    ["header", "request", bytes(limits.maxHeaderBytes), "refused by HTTP/2, or status 431"],
    [
      "header at `/v1/authorize`",
      "request",
      `${bytes(limits.maxAuthorizeHeaderBytes)}, which count as request bytes`,
      "the same",
    ],
    [`message (${flag("maxMessageBytes")})`, "request", bytes(preset("maxMessageBytes")), "RESOURCE_EXHAUSTED"],
    [
      `request bytes that are incomplete, or whose calls have not ended (2.5 times ${flag("maxMessageBytes")} if more)`,
      "connection",
      bytes(limits.requestBytes),
      "the stream is reset; in a pipeline TOO_MANY_CALLS",
    ],
    [
      `the same, as long as further requests are read (1.5 times ${flag("maxMessageBytes")} if more)`,
      "connection",
      bytes(limits.requestBytesForMore),
      "OVERLOADED, before the request is read",
    ],
    ["bytes that each chunk of a request counts in addition", "chunk", bytes(limits.chunkBytes), ""],
    [
      "response bytes that the client has not read",
      "connection",
      bytes(limits.answerBytes),
      "ANSWERS_NOT_TAKEN, or the stream is reset",
    ],
    [
      "the same, as long as further calls are made",
      "connection",
      bytes(limits.answerBytesForMore),
      "ANSWERS_NOT_TAKEN, before the request is read; above 1 MiB a pipeline is no longer read",
    ],
  ],
  "Time of calls and streams": [
    [
      `duration of a unary call (${flag("maxDeadlineMs")})`,
      "call",
      seconds(preset("maxDeadlineMs")),
      "DEADLINE_EXCEEDED",
    ],
    [
      `duration of its stream (${flag("maxDeadlineMs")} plus ${seconds(limits.closeMs)})`,
      "stream",
      seconds(preset("maxDeadlineMs") + limits.closeMs),
      "reset",
    ],
    ["time for one message of a stream to arrive, or to be read", "stream", seconds(limits.messageMs), "reset"],
    ["time to read the rejection of a call", "stream", seconds(limits.rejectionMs), "reset"],
    [
      "time that a stream lingers if it was answered before its request was complete",
      "stream",
      seconds(limits.lingerMs),
      "closed",
    ],
    ["the same with HTTP/1.1", "connection", seconds(limits.lingerHttp1Ms), "closed"],
    [
      "bytes of the rest of such a request that are read and discarded",
      "rejected stream",
      bytes(limits.lingerBytes),
      "no more is read",
    ],
    ["the same with HTTP/1.1", "connection", bytes(limits.lingerHttp1Bytes), "closed"],
    ["streams that linger at the same time", "connection", count(limits.lingeringStreams), "closed"],
  ],
  "Methods that need no key": [
    ["streams of health", "connection", count(limits.openStreams), "RATE_LIMITED"],
    [
      "streams of health without a key, in all",
      "worker",
      count(limits.openStreamsInAll),
      "the oldest stream of the connection with the most streams is reset",
    ],
    ["streams of reflection", "connection", count(limits.reflectionStreams), "RATE_LIMITED"],
    [
      "streams of reflection without a key, in all",
      "worker",
      count(limits.reflectionStreamsInAll),
      "as those of health",
    ],
    ["requests for health", "connection", perSecond(limits.healthPerSecond), "RATE_LIMITED"],
    [
      "the same, `GET /healthz` and `/readyz` included, before a call with a valid key",
      "connection",
      `${count(limits.unauthenticatedHealthBurst)} at once, ${perSecond(limits.unauthenticatedHealthPerSecond)}`,
      "RATE_LIMITED; a `GET` is answered, and counts as a bad request",
    ],
    [
      "requests to reflection, including those in a stream, in all",
      "worker",
      perSecond(limits.reflectionPerSecondInAll),
      "RATE_LIMITED",
    ],
    ["message", "request", bytes(limits.openRequestBytes), "reset"],
  ],
  "Calls and logs": [
    ["active calls", "pipeline", count(maxInFlight), "TOO_MANY_CALLS"],
    [
      `active calls, of TokenService and of all other services (${flag("maxActiveCalls")})`,
      "worker",
      `${count(preset("maxActiveCalls"))} each`,
      "wait; tenants take turns, and the keys of each",
    ],
    [
      `calls that wait to become active (eight times ${flag("maxActiveCalls")})`,
      "key and worker",
      count(waiting.burst),
      "OVERLOADED",
    ],
    ["time that a call waits to become active", "call", seconds(maxWaitMs), "OVERLOADED"],
    [
      `waiting calls, and waiting time, when calls of the key have waited without a break for longer than that (${flag("maxActiveCalls")})`,
      "key and worker; call",
      `${count(waiting.overloaded)}; ${seconds(overloadedMaxWaitMs)}`,
      "OVERLOADED",
    ],
    [
      `calls of a method (${flag("rateLimit")}, ${flag("rateLimitOverrides")})`,
      "key and worker",
      perSecond(preset("rateLimit")),
      "RATE_LIMITED",
    ],
    [
      "messages of session caches",
      "stream; tenant and worker",
      `${perSecond(cacheMessages.stream.perSecond)}; ${perSecond(cacheMessages.tenant.perSecond)}`,
      "wait",
    ],
    [
      "time that calls on SQLite keep a turn of the event loop busy",
      "worker",
      seconds(longestTurnMs),
      "wait for the next turn",
    ],
    [
      "log lines about calls that no key limits",
      "outcome and worker",
      perSecond(linesPerSecond),
      "the rest is counted in one line",
    ],
    [
      `buffered lines of the log, and of the audit log (${flag("auditLogFailure")})`,
      "process",
      bytes(maxWaitingBytes),
      "lost and counted",
    ],
    ["time to write buffered lines at the end of the process", "process", seconds(exitFlushMs), "lost"],
    [
      "time without an answer of a worker to the primary",
      "worker",
      seconds(maxUnanswered * everyMs),
      "killed and replaced",
    ],
  ],
  Database: [
    [`connections in use (${flag("databasePoolSize")})`, "worker", count(pool), "wait"],
    ["the same of writers; a fifth is left to readers", "worker", count(writerPermitsOf(pool)), "wait"],
    [
      "the same of statements that may examine many rows",
      "worker; tenant and worker",
      `${count(fewOf(pool))}; ${count(sharesInTurns(fewOf(pool)).tenant)}`,
      "wait in turn",
    ],
    [
      "index entries that a statement of a list or a count examines",
      "statement",
      `${count(examinedAtOnce)}; ${count(countedAtOnce)}`,
      "the next statement goes on",
    ],
    [
      "entries that are examined for a page of a list",
      "call",
      count(examinedAtOnce * slicesOfPage),
      "the page ends, with a token",
    ],
    ["connections of writers of one row", "worker", "1", "wait in turn"],
    [
      `calls that wait for a connection, or to write a row (${flag("databaseQueueLimit")})`,
      "worker",
      count(queue),
      "QUEUE_FULL",
    ],
    [
      "the same of one tenant; of one key",
      "tenant and worker; key and worker",
      "as many as are left for others; as many as are left of these for other keys",
      "QUEUE_FULL",
    ],
    [
      `calls that wait to write one row (a tenth of ${flag("databaseQueueLimit")})`,
      "worker",
      count(rowWaitersOf(queue)),
      "QUEUE_FULL",
    ],
    [
      "authenticators, which are listed together; each counts for at least 1 KiB",
      "user",
      bytes(maxBytesOfUser),
      "INVALID_FIELD",
    ],
  ],
}

const begun = "the same, as long as further"

/** For each shared limit what it is on, what happens beyond it, and what it is on if more of it cannot begin (`reserve`). */
const shared: Readonly<Record<keyof typeof sharedLimits, readonly [limit: string, beyond: string, more?: string]>> = {
  connections: [
    "connections over which a call with a valid key was made",
    "OVERLOADED; the connection counts as one without such a call",
  ],
  streams: ["streams of HTTP/2, and requests of HTTP/1.1", "OVERLOADED, before the request is read"],
  requestBytes: [
    "request bytes that are incomplete, or whose calls have not ended",
    "as on a connection",
    `${begun} requests are read`,
  ],
  answerBytes: ["response bytes that the client has not read", "as on a connection", `${begun} calls are made`],
  activeCalls: ["active calls, of TokenService and of all other services, each", "wait in turn"],
  databaseConnections: ["database connections in use", "wait in turn"],
  eventStreams: ["streams of events", "TOO_MANY_CALLS"],
  cacheStreams: ["streams of session caches", "OVERLOADED"],
  lastSeen: ["sessions whose `last_seen` waits to be written", "recorded at the next use"],
}

/** Returns the text of docs/limits.md. */
export function limitsPage(): string {
  const sections = Object.entries(tables).map(
    ([heading, rows]) => `## ${heading}\n\n${table(["limit on", "per", "value", "beyond it"], rows)}`,
  )
  return `# Limits

<!-- Generated by scripts/gen from scripts/limits-page.ts; edits here are lost. -->

What the service accepts at most, so that no client can exhaust it ([what is promised](../SECURITY.md#denial-of-service)). A worker is
one process. An option in parentheses changes a limit; the tables show the values with the defaults.

${sections.join("\n\n")}

## Shares of tenants and API keys

API keys share these limits of a worker. Each tenant has a part of them, and each key a part of that. What one tenant leaves is at
least all that one key may have, or of the connections a quarter. Of that for which calls wait in turns it is a tenth.

The options above change the limits of connections, active calls and database connections in proportion. Those of request bytes grow
if a key has less than 2.5 times ${flag("maxMessageBytes")}.

${table(["shared limit", "worker", "tenant", "key", "beyond it"], Object.entries(sharedLimits).flatMap(sharesOf))}
`
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n")
}

/** Returns the row of a shared limit, and if it has a reserve, the row without it. */
function sharesOf([name, { worker, tenant, key, reserve = 0 }]: [string, SharedLimit]): string[][] {
  const [limit, beyond, more] = shared[name as keyof typeof sharedLimits]
  const unit = name.endsWith("Bytes") ? bytes : count
  const row = (text: string, left: number) => [text, ...[worker, tenant, key].map((all) => unit(all - left)), beyond]
  return more === undefined ? [row(limit, 0)] : [row(limit, 0), row(more, reserve)]
}
