import { globSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { expect, test } from "@jest/globals"

const root = fileURLToPath(new URL("../..", import.meta.url))

/** The files that read the wall clock, and for what. It may be set at any time, so no duration may be measured by it. */
const wallClock: Record<string, string> = {
  "client/src/pipeline/transport.ts": "reveals that the process was suspended",
  "client/src/session-cache/caching.ts": "the expiry of a session",
  "client/src/session-cache/clock.ts": "reveals that the machine was suspended",
  "client/src/session-cache/shared.ts": "the expiry of a session",
  "client/src/transport/checked-client.ts": "the deadline of a call, which grpc-js takes as a time of day",
  "client/src/transport/grpc.ts": "the deadline of a call, which grpc-js takes as a time of day",
  "client/src/transport/suspension.ts": "reveals that the process was suspended",
  "console/src/page/text.ts": "a time that is shown",
  "console/src/page/views/user-filters.ts": "a filter by stored times",
  "server/src/auth/static-keys.ts": "the expiry of a key of the configuration, when it is read",
  "server/src/cli/administration/audit.ts": "a filter by stored times",
  "server/src/cli/commands/doctor.ts": "the validity of a certificate",
  "server/src/config/values.ts": "an expiry that is stored",
  "server/src/doctor/database.ts": "is compared with the clock of the database",
  "server/src/events/feed.ts": "the default of the clock of an observer",
  "server/src/import/peer/plan.ts": "a time that is stored",
  "server/src/logging/audit-log.ts": "a time that is shown",
  "server/src/store/sql/bulk/addresses.ts": "a time that is stored",
  "server/src/store/sql/bulk/bulk.ts": "a time that is stored",
  "server/src/store/sql/database-time.ts": "is compared with the clock of the database",
  "server/src/transport/tls/certificate.ts": "the validity of a certificate",
  "server/src/util/elapsed-time.ts": "reveals that the machine was suspended",
  "token/src/jwe/lru.ts": "the idle time of what can be derived again, in runtimes that need not have another clock",
  "token/src/token-module.ts": "the time of issue and the expiry of a token",
}

/** The files with a clock that also advances while the machine is suspended, for what ends elsewhere meanwhile. */
const elapsed: Record<string, string> = {
  "client/src/session-cache/shared.ts": "the lease of a client's cache",
  "server/src/bootstrap/auth.ts": "how long keys are used without a read",
  "server/src/bootstrap/server.ts": "the lease of a refresh of tokens",
  "server/src/bootstrap/service.ts": "how long a session policy is used without a read",
  "server/src/bootstrap/session-caches.ts": "the report of a process about its clients",
  "server/src/cleanup/cleaner.ts": "the lease of the cleanup",
  "server/src/webhooks/dispatcher.ts": "the lease of the deliveries",
  "server/src/events/tenant-feed.ts": "the time without a read after which events may have been deleted",
}

test.each([
  ["the wall clock is read", /\bDate\.now\b|\bnew Date\(\)/, wallClock],
  ["a clock that jumps ahead is used", /\belapsedTime\(\)/, elapsed],
])("%s only where that is right; durations are those of performance.now()", (_, reading, known) => {
  const files = globSync("{server,client,token,console}/src/**/*.ts", { cwd: root })
    .filter((file) => !/\.test\.ts$/.test(file))
    .filter((file) => {
      const code = readFileSync(`${root}/${file}`, "utf8").replace(/^\s*(\/\*\*|\*|\/\/).*$/gm, "")
      // Not where it is declared.
      return reading.test(code.replace(/function elapsedTime\(\)/, ""))
    })
  expect(files.sort()).toEqual(Object.keys(known).sort())
})

/** The files that wait for peers and have timers of their own, and for what. */
const ownTimers: Record<string, string> = {
  "client/src/pipeline/member.ts": "how long a draining stream takes calls",
  "client/src/pipeline/pool.ts": "the end of idle streams",
  "client/src/pipeline/stream.ts": "the end of a finished stream without calls",
  "server/src/store/sql/cluster/members.ts": "the pause before the next question",
  "server/src/store/sql/engine/mysql/schema-lock.ts": "the statements that extend the lock",
  "server/src/store/sql/engine/server-limit.ts": "the pause before the next try",
  "server/src/store/sql/engine/sockets.ts": "the end of connections that are being opened for too long",
  "server/src/transport/closing/supervise-session.ts":
    "PINGs, whose timeout has two checks, so that a pause of the service lets a turn pass between them",
  "server/src/transport/connect/http.ts": "the end of idle connections when the service stops",
  "server/src/transport/listener/listen.ts": "the end of all connections when the service stops",
  "server/src/webhooks/sender.ts": "a delivery, which must not begin after its lease",
}

const ofServer = "{transport,pipeline,store/sql/engine,store/sql/cluster,webhooks,signals,provider-tokens}"
const peers = `{client/src/{pipeline,sessions},server/src/${ofServer}}`

const filesWith = (pattern: RegExp, folder: string) =>
  globSync(`${folder}/**/*.ts`, { cwd: root })
    .filter((file) => !/\.test\.ts$/.test(file))
    .filter((file) => pattern.test(readFileSync(`${root}/${file}`, "utf8")))
    .sort()

test("what waits for a client, a database or a provider uses peerTimeout, which reads what has arrived before a time is over", () => {
  expect(filesWith(/\bset(Timeout|Interval)\(/, peers)).toEqual(Object.keys(ownTimers).sort())
  // A refresh must not begin after its lease.
  const refresh = "server/src/provider-tokens/token-endpoint.ts"
  expect(filesWith(/\bAbortSignal\.timeout\((?!\))/, "server/src")).toEqual([refresh])
})
