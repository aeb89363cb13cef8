import { readFileSync } from "node:fs"
import { expect, test } from "@jest/globals"
import { maxInFlight } from "../../server/src/bootstrap/service.js"
import { everyMs, maxUnanswered } from "../../server/src/cluster/heartbeat.js"
import type { Option } from "../../server/src/config/option.js"
import { options } from "../../server/src/config/options.js"
import { maxWaitingBytes } from "../../server/src/logging/bounded-lines.js"
import { exitFlushMs } from "../../server/src/logging/exit-after-pending-lines.js"
import { maxWaitingOfKey, maxWaitMs, overloadedMaxWaitMs } from "../../server/src/overload/concurrency-limit.js"
import { linesPerSecond } from "../../server/src/rpc/rejection-log.js"
import { maxBytesOfUser } from "../../server/src/store/sql/authenticators.js"
import { longestTurnMs } from "../../server/src/store/sql/engine/sqlite.js"
import { examinedAtOnce, slicesOfPage } from "../../server/src/store/sql/query/page.js"
import { fewOf, writerPermitsOf } from "../../server/src/store/sql/transaction/connection-permits.js"
import { rowWaitersOf } from "../../server/src/store/sql/transaction/unit-of-work.js"
import { countedAtOnce } from "../../server/src/store/sql/users/user-lists.js"
import { limits as all } from "../../server/src/transport/limits/limits.js"
import { cacheMessages, type SharedLimit, sharedLimits, sharesInTurns } from "../../server/src/util/shared-limits.js"

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

/** The values of the rows of the table in SECURITY.md, in their order. */
const values = [
  count(defaultOf("max-connections")),
  `${seconds(defaultOf("handshake-timeout-ms"))} each`,
  seconds(defaultOf("idle-timeout-ms")),
  seconds(limits.unauthenticatedIdleMs),
  seconds(limits.keepAliveMs),
  seconds(limits.socketMs),
  seconds(limits.pingMs),
  count(limits.pipelinedRequests),
  count(limits.unauthenticatedRequests),
  count(limits.unauthenticatedRequestsAtMost),
  "1",
  count(limits.maxConcurrentStreams),
  count(limits.streamsAtWork),
  count(limits.pipelines),
  bytes(limits.maxHeaderBytes),
  `${bytes(limits.maxAuthorizeHeaderBytes)}, which count as request bytes`,
  bytes(defaultOf("max-message-bytes")),
  bytes(limits.requestBytes),
  bytes(limits.requestBytesForMore),
  bytes(limits.chunkBytes),
  bytes(limits.answerBytes),
  bytes(limits.answerBytesForMore),
  seconds(defaultOf("max-deadline-ms")),
  seconds(defaultOf("max-deadline-ms") + limits.closeMs),
  seconds(limits.messageMs),
  seconds(limits.rejectionMs),
  seconds(limits.lingerMs),
  seconds(limits.lingerHttp1Ms),
  bytes(limits.lingerBytes),
  bytes(limits.lingerHttp1Bytes),
  count(limits.lingeringStreams),
  count(limits.openStreams),
  count(limits.openStreamsInAll),
  count(limits.reflectionStreams),
  count(limits.reflectionStreamsInAll),
  perSecond(limits.healthPerSecond),
  `${count(limits.unauthenticatedHealthBurst)} at once, ${perSecond(limits.unauthenticatedHealthPerSecond)}`,
  perSecond(limits.reflectionPerSecondInAll),
  bytes(limits.openRequestBytes),
  count(maxInFlight),
  `${count(defaultOf("max-active-calls"))} each`,
  count(maxWaiting.burst),
  seconds(maxWaitMs),
  `${count(maxWaiting.overloaded)}; ${seconds(overloadedMaxWaitMs)}`,
  perSecond(defaultOf("rate-limit")),
  seconds(longestTurnMs),
  perSecond(linesPerSecond),
  bytes(maxWaitingBytes),
  seconds(exitFlushMs),
  seconds(maxUnanswered * everyMs),
  count(pool),
  count(writerPermitsOf(pool)),
  `${count(fewOf(pool))}; ${count(sharesInTurns(fewOf(pool)).tenant)}`,
  `${count(examinedAtOnce)}; ${count(countedAtOnce)}`,
  count(examinedAtOnce * slicesOfPage),
  "1",
  count(defaultOf("database-queue-limit")),
  "as many as are left for others; as many as are left of these for other keys",
  count(rowWaitersOf(defaultOf("database-queue-limit"))),
  bytes(maxBytesOfUser),
]

function tableOf(text: string, firstColumn: string): string[][] {
  const section = text.split(`\n| ${firstColumn} |`)[1]?.split("\n\n")[0] ?? ""
  return `| ${firstColumn} |${section}`
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

const security = readFileSync(new URL("../../SECURITY.md", import.meta.url), "utf8")
const table = tableOf(security, "limit on")

test("S-46: the limits in SECURITY.md are those of the code", () => {
  expect(table.map(([, , value]) => value)).toEqual(values)
})

test("S-47: the shared limits in SECURITY.md are those of the code, and leave others as much as a key may have", () => {
  const rowsOf = (limit: SharedLimit, unit: typeof count, whole = true) => {
    const { worker, tenant, key, reserve = 0 } = limit
    return [worker, tenant, key].map((value) => unit(whole ? value : value - reserve))
  }
  const { requestBytes, answerBytes, ...counts } = sharedLimits
  const [connections, streams, ...others] = Object.values(counts).map((limit) => rowsOf(limit, count))
  const ofBytes = [requestBytes, answerBytes].flatMap((limit) => [rowsOf(limit, bytes), rowsOf(limit, bytes, false)])
  const found = tableOf(security, "shared limit").map((row) => row.slice(1, 4))
  expect(found).toEqual([connections, streams, ...ofBytes, ...others])
  for (const { worker, tenant, key, inTurns } of Object.values<SharedLimit>(sharedLimits)) {
    expect(tenant).toBeGreaterThanOrEqual(key)
    expect(worker - tenant).toBeGreaterThanOrEqual(inTurns ? Math.floor(worker / 10) : Math.min(key, worker / 4))
  }
  expect(sharedLimits.activeCalls.worker).toBe(defaultOf("max-active-calls"))
  expect(sharedLimits.databaseConnections.worker).toBe(pool)
  const { stream, tenant } = cacheMessages
  expect(security.replace(/\s+/g, " ")).toContain(
    `beyond ${perSecond(stream.perSecond)} on a stream, and ${perSecond(tenant.perSecond)} of a tenant`,
  )
})

test("every limit of the code is documented, and every option that the table names exists", () => {
  expect([...told].sort()).toEqual(Object.keys(all).sort())
  const flags = table.flatMap((row) => [...(row[0] ?? "").matchAll(/`--([a-z-]+)`/g)].map(([, flag]) => flag))
  expect(flags.length).toBeGreaterThan(8)
  for (const flag of flags) expect(Object.values<Option>(options).map((one) => one.flag)).toContain(flag)
})
