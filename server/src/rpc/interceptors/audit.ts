import { repeatable } from "@authwire/proto"
import { type DescMethod, getOption, type Message } from "@bufbuild/protobuf"
import { parseKey } from "../../auth/api-key.js"
import { issuesTokens, isWrite } from "../../auth/scopes.js"
import { auditFieldsOf, subjectsOf } from "../../auth/subject.js"
import { codeOf, Failure, type Reason } from "../../errors/failure.js"
import { statusName } from "../../errors/status.js"
import type { AuditStore } from "../../store/store.js"
import type { AuditEntry } from "../../store/types.js"
import { type Call, callerOf } from "../call.js"
import type { CallEnded, Interceptor } from "../interceptor.js"

/** The audit: an entry for each write and each rejected call, without the contents of requests and responses. */
export interface Audit {
  /** Rejects writes while they are not allowed, and stores their entries with them. Inside of everything that opens a transaction. */
  readonly interceptor: Interceptor
  /** Returns the function that records each finished call of a method, and its failure if any. Runs once per method. */
  recorderOf(method: DescMethod): CallEnded
  /** Records a call that was rejected before it began. Its caller is unknown, because it was not authenticated. */
  rejected(method: DescMethod, failure: Failure, requestId: string): void
  /** Records what the service has done by itself. */
  record(entry: AuditEntry, tenant: string): void
  /** Records the summaries that are still pending. */
  flush(): void
}

export interface AuditOptions {
  lines: AuditLines | undefined
  table: AuditTable | undefined
  /** The time in milliseconds since 1970. */
  now: () => number
}

/** The log, with a line for each entry. */
export interface AuditLines {
  /** Whether calls that write are rejected, because their lines could be lost. */
  readonly isBlocked: boolean
  /**
   * Writes the line of an entry.
   *
   * @param tenant Undefined for a call that was not authenticated.
   * @param isWrite Whether the call was a write that was not rejected.
   */
  write(entry: AuditEntry, tenant: string | undefined, isWrite: boolean): void
}

/** The table, with a row for each entry of a tenant. */
export interface AuditTable extends Pick<AuditStore, "together"> {
  /**
   * Stores an entry of a call that has ended, later. It may be lost.
   *
   * @param isRoutine Whether calls of the method change nothing, so that its entry is lost before others.
   */
  keep(entry: AuditEntry, tenant: string, isRoutine: boolean): void
}

const rejections: ReadonlySet<Reason> = new Set([
  "API_KEY_MISSING",
  "API_KEY_INVALID",
  "SCOPE_MISSING",
  "RATE_LIMITED",
  "OVERLOADED",
  "AUDIT_LOG_UNAVAILABLE",
])

/** The number of rejected calls of a key that get an entry each, per second. */
const entriesPerSecond = 10

/**
 * Creates the audit. A rejected client can retry at any rate, so only the first ten rejected calls per second and key get an
 * entry each, and the first with each method and reason, so that a key cannot hide what it tries. The others are summarized
 * in one per method and reason with their number. Calls without a key are counted by reason, whatever their method:
 * anybody can make them, so they get few lines. Every write gets its own entry.
 */
export function audit({ lines, table, now }: AuditOptions): Audit {
  const rejected = new Map<string, { leftOut: number; summary: AuditEntry; tenant: string | undefined }>()
  /** The number of entries of the rejected calls of each key, and without one of each reason. */
  const recorded = new Map<string, number>()
  /** The answers of writes whose entries are committed with them. The answer of a repeated call is another one. */
  const stored = new WeakSet<Message>()
  let timer: NodeJS.Timeout | undefined

  const record = (entry: AuditEntry, tenant: string | undefined) => {
    lines?.write(entry, tenant, false)
    if (tenant !== undefined) table?.keep(entry, tenant, false)
  }

  const flush = (): void => {
    clearTimeout(timer)
    for (const { leftOut, summary, tenant } of rejected.values()) {
      if (leftOut > 0) record({ ...summary, created: new Date(now()), count: leftOut }, tenant)
    }
    rejected.clear()
    recorded.clear()
  }

  const reject = (entry: AuditEntry, tenant: string | undefined): void => {
    const { created, keyId, keyName, code, reason } = entry
    const method = keyId === undefined ? "" : entry.method
    const about = `${keyId ?? ""} ${method} ${reason}`
    const found = rejected.get(about)
    const whose = keyId ?? reason ?? ""
    const count = recorded.get(whose) ?? 0
    if (found !== undefined && count >= entriesPerSecond) {
      found.leftOut++
      return
    }
    if (found === undefined) {
      if (rejected.size === 0) timer = setTimeout(flush, 1_000).unref()
      rejected.set(about, { leftOut: 0, summary: { created, method, keyId, keyName, code, reason }, tenant })
    }
    recorded.set(whose, count + 1)
    record(entry, tenant)
  }

  /** Returns the function that makes the entries of a method's calls: one for each user that a call is about, or one. */
  const entriesOf = (method: DescMethod) => {
    const name = nameOf(method)
    const findSubjects = isWrite(method) ? subjectsOf(method) : () => []
    const findFields = isWrite(method) ? auditFieldsOf(method) : () => undefined
    return (call: Call, failure: Failure | undefined, request?: Message, answer?: Message): AuditEntry[] => {
      const entry: AuditEntry = {
        created: new Date(now()),
        method: name,
        keyId: call.identity?.keyId,
        keyName: call.identity?.keyName,
        code: failure === undefined ? "OK" : statusName(failure.code),
        reason: failure?.reason,
        requestId: call.requestId,
        traceId: call.traceId,
        fields: failure?.reason === "API_KEY_INVALID" ? claimedKey(call) : findFields(request, answer),
      }
      const subjects = findSubjects(request, answer)
      return subjects.length === 0 ? [entry] : subjects.map((subject) => ({ ...entry, subject }))
    }
  }

  return {
    interceptor: {
      admit(method) {
        if (lines === undefined || !isWrite(method)) return undefined
        return () => {
          if (lines.isBlocked) throw new Failure("AUDIT_LOG_UNAVAILABLE", { retryAfterMs: 1_000 })
          return undefined
        }
      },
      unary(method, next) {
        if (table === undefined || !isWrite(method) || !getOption(method, repeatable)) return next
        const make = entriesOf(method)
        return (request, call, outer) =>
          table.together(callerOf(call, outer), async (transaction) => {
            const answer = await next(request, call, transaction)
            stored.add(answer)
            return { result: answer, entries: make(call, undefined, request, answer) }
          })
      },
    },

    recorderOf(method) {
      const writes = isWrite(method)
      const make = entriesOf(method)
      const onlyIssues = issuesTokens(method)
      return (call, failure, _begun, _end, request, answer) => {
        const tenant = call.identity?.tenant
        // A write had no effect if its handler was not called, whatever ended it: a client needs no key to cancel a call while
        // its key is looked up.
        if (failure !== undefined && (rejections.has(failure.reason) || (writes && request === undefined)))
          return reject(make(call, failure, request)[0] as AuditEntry, tenant)
        if (!writes || call.hasWritten === false) return
        for (const entry of make(call, failure, request, answer)) {
          lines?.write(entry, tenant, true)
          if (tenant !== undefined && (answer === undefined || !stored.has(answer)))
            table?.keep(entry, tenant, onlyIssues)
        }
      }
    },

    rejected(method, { reason }, requestId) {
      if (!rejections.has(reason)) return
      const code = statusName(codeOf(reason))
      reject({ created: new Date(now()), method: nameOf(method), code, reason, requestId }, undefined)
    },

    record,
    flush,
  }
}

function nameOf({ parent, name }: DescMethod): string {
  return `${parent.typeName}/${name}`
}

/** Returns which client still uses a revoked key. Any client can claim any key. */
function claimedKey(call: Call): { claimed_key: string } | undefined {
  const id = parseKey((call.pipeline ?? call).header("authorization") ?? "")?.id
  return id === undefined ? undefined : { claimed_key: id }
}
