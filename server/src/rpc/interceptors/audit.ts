import { repeatable } from "@authwire/proto"
import { type DescMethod, getOption, type Message } from "@bufbuild/protobuf"
import { MethodOptions_IdempotencyLevel as Level } from "@bufbuild/protobuf/wkt"
import { parseKey } from "../../auth/api-key.js"
import { anyScope, scopeOf } from "../../auth/scopes.js"
import { auditFieldsOf, shownSubject, subjectOf } from "../../auth/subject.js"
import { codeOf, Failure, type Reason } from "../../errors/failure.js"
import { statusName } from "../../errors/status.js"
import type { AuditStore } from "../../store/store.js"
import type { AuditEntry } from "../../store/types.js"
import type { Call } from "../call.js"
import type { CallEnded, Interceptor } from "../interceptor.js"

/** The audit log: one line for each write and each rejected call, without the contents of requests and responses. */
export interface Audit {
  /** Finds the users that writes are about, and rejects writes while they are not allowed. */
  readonly interceptor: Interceptor
  /** Stores entries together with the writes. Inside of everything that opens a transaction. Does nothing without `store`. */
  readonly entries: Interceptor
  /** Returns the function that records each finished call of a method, and its failure if any. Runs once per method. */
  of(method: DescMethod): CallEnded
  /** Records a call that was rejected before it began. Its caller is unknown, because it was not authenticated. */
  rejected(method: DescMethod, failure: Failure, requestId: string): void
  /** Writes the number of lines that were lost, at the position where they are missing. */
  lost(lines: number): void
  /** Writes the summaries that are still pending. */
  flush(): void
}

export interface AuditOptions {
  /** Writes one line, including its line break. */
  write: (line: string) => void
  /** Writes the line of a write that was admitted. Default: `write`. */
  writeOfWrite?: (line: string) => void
  /** Returns whether calls that write are admitted. Default: always. */
  mayWrite?: () => boolean
  /** Stores entries, too. Default: lines only. */
  store?: AuditEntryStore | undefined
  /** The time in milliseconds since 1970. */
  now: () => number
}

/** Where entries are stored. */
export interface AuditEntryStore extends Pick<AuditStore, "together"> {
  /** Stores an entry of a call that has ended, later. It may be lost. */
  keep(tenant: string, entry: AuditEntry): void
}

const rejections: ReadonlySet<Reason> = new Set([
  "API_KEY_MISSING",
  "API_KEY_INVALID",
  "SCOPE_MISSING",
  "RATE_LIMITED",
  "OVERLOADED",
  "AUDIT_LOG_UNAVAILABLE",
])

/** The number of rejected calls that get a line each, per second, reason and key. Calls without a key share one. */
const linesPerSecond = 10

/** What is known about a write that was admitted. */
interface Write {
  /** The id of the user that the call is about, or several ids. Undefined until it is known. */
  subject: string | readonly string[] | undefined
  /** Further fields of the call's entry, by name. */
  readonly fields: Record<string, string | number>
  /** Whether its entries were committed with it. */
  isStored: boolean
}

/** The properties of an entry that a line has. */
interface Entry extends Record<string, unknown> {
  key: string | undefined
  tenant: string | undefined
}

/** The rejected calls of one second, reason and key. */
interface Summary {
  count: number
  last: Entry
}

/**
 * Creates the audit log. A rejected client can retry at any rate, so only the first ten rejected calls per second, key
 * and reason get a line each. The others are summarized in one line with their number. Every write gets its own line.
 */
export function audit({ write, writeOfWrite = write, mayWrite = () => true, store, now }: AuditOptions): Audit {
  const rejected = new Map<string, Summary>()
  // Only these writes may have had an effect. A write that ends before is rejected, whatever ended it: a client needs no
  // key to cancel a call while its key is looked up.
  const admitted = new WeakMap<Call, Write>()
  let timer: NodeJS.Timeout | undefined

  const lineOf = (entry: Record<string, unknown>, event = "audit"): string =>
    `${JSON.stringify({ time: new Date(now()).toISOString(), event, ...entry })}\n`

  const keep = (entry: Entry) => {
    if (entry.tenant !== undefined) store?.keep(entry.tenant, storedEntry(entry, new Date(now())))
  }

  const record = (entry: Entry) => {
    write(lineOf(entry))
    keep(entry)
  }

  const flush = (): void => {
    clearTimeout(timer)
    for (const { count, last } of rejected.values()) {
      if (count > linesPerSecond) record({ ...last, count: count - linesPerSecond })
    }
    rejected.clear()
  }

  const reject = (about: string, makeEntry: () => Entry): void => {
    let entry = rejected.get(about)
    if (entry === undefined) {
      if (rejected.size === 0) {
        timer = setTimeout(flush, 1_000)
        timer.unref()
      }
      const { key, tenant, code, reason } = makeEntry()
      entry = { count: 0, last: { key, tenant, code, reason } }
      rejected.set(about, entry)
    }
    entry.count++
    if (entry.count <= linesPerSecond) record(makeEntry())
  }

  /** Returns the function that finds what the audit records about the writes of a method; undefined if that is nothing. */
  const collectorOf = (method: DescMethod) => {
    const subject = isWrite(method) ? subjectOf(method) : undefined
    const auditFields = isWrite(method) ? auditFieldsOf(method) : []
    if (subject === undefined && auditFields.length === 0) return undefined
    return (where: "request" | "answer", message: Message, call: Call) => {
      const write = admitted.get(call)
      if (write === undefined) return
      if (subject?.in === where) write.subject = subject.find(message)
      for (const one of auditFields) {
        const value = one.in === where ? one.find(message) : undefined
        if (value !== undefined) write.fields[one.name] = value
      }
      if (where === "answer" && Array.isArray(write.subject) && "processed" in message)
        write.subject.splice(Number(message.processed))
    }
  }

  /** Returns the entries of a call: one for each user that it is about, or one. */
  const entriesOf = (method: string, call: Call, failure: Failure | undefined): Entry[] => {
    const { identity } = call
    const write = admitted.get(call)
    const outcome = failure === undefined ? { code: "OK" } : { code: statusName(failure.code), reason: failure.reason }
    const entry = (subject?: string) => ({
      key: identity?.keyId,
      tenant: identity?.tenant,
      // It shows which client still uses a revoked key. Any client can claim any key.
      claimed_key: failure?.reason === "API_KEY_INVALID" ? claimedKey(call) : undefined,
      method,
      subject: subject === undefined ? undefined : shownSubject(subject),
      ...write?.fields,
      ...outcome,
      request_id: call.requestId,
      trace_id: call.traceId,
    })
    const subjects = [write?.subject].flat()
    // A write has an entry even if its list of users is empty.
    return subjects.length === 0 ? [entry()] : subjects.map(entry)
  }

  return {
    interceptor: {
      admit(method) {
        if (!isWrite(method)) return undefined
        return (call) => {
          if (!mayWrite()) throw new Failure("AUDIT_LOG_UNAVAILABLE", { retryAfterMs: 1_000 })
          admitted.set(call, { subject: undefined, fields: {}, isStored: false })
          return undefined
        }
      },
      unary(method, next) {
        const collect = collectorOf(method)
        if (collect === undefined) return next
        return async (request: Message, call: Call) => {
          collect("request", request, call)
          const answer = await next(request, call)
          collect("answer", answer, call)
          return answer
        }
      },
    },

    entries: {
      unary(method, next) {
        if (store === undefined || !isWrite(method) || !getOption(method, repeatable)) return next
        const name = nameOf(method)
        const collect = collectorOf(method)
        return async (request, call) => {
          const answer = await store.together(call, async (transaction) => {
            call.transaction = transaction
            const answer = await next(request, call)
            // Both, because the work may run again.
            collect?.("request", request, call)
            collect?.("answer", answer, call)
            const time = new Date(now())
            return { result: answer, entries: entriesOf(name, call, undefined).map((one) => storedEntry(one, time)) }
          })
          const write = admitted.get(call)
          if (write !== undefined) write.isStored = true
          return answer
        }
      },
    },

    of(method) {
      const isTold = isWrite(method)
      const name = nameOf(method)
      return (call, failure) => {
        const write = admitted.get(call)
        const isRejected = failure !== undefined && (rejections.has(failure.reason) || (isTold && write === undefined))
        if ((!isTold || call.hasWritten === false) && !isRejected) return
        const entries = entriesOf(name, call, failure)
        if (isRejected) return reject(`${entries[0]?.key ?? ""} ${failure.reason}`, () => entries[0] as Entry)
        for (const entry of entries) {
          writeOfWrite(lineOf(entry))
          if (write?.isStored !== true) keep(entry)
        }
      }
    },

    rejected(method, { reason }, requestId) {
      if (!rejections.has(reason)) return
      const code = statusName(codeOf(reason))
      const entry = { key: undefined, tenant: undefined, method: nameOf(method), code, reason, request_id: requestId }
      reject(` ${reason}`, () => entry)
    },

    lost: (lines) => write(lineOf({ lines }, "audit-lost")),

    flush,
  }
}

/** Converts the properties of a line. Those that no entry has by itself are its fields. */
function storedEntry(entry: Entry, created: Date): AuditEntry {
  const { key, tenant: _, method, subject, code, reason, request_id, trace_id, count, ...others } = entry
  const fields = Object.entries(others).filter(([, value]) => value !== undefined)
  return {
    created,
    method: method === undefined ? "" : String(method),
    keyId: key,
    subject: subject as string | undefined,
    code: String(code),
    reason: reason as string | undefined,
    requestId: request_id as string | undefined,
    traceId: trace_id as string | undefined,
    count: count as number | undefined,
    fields: fields.length === 0 ? undefined : (Object.fromEntries(fields) as AuditEntry["fields"]),
  }
}

function nameOf({ parent, name }: DescMethod): string {
  return `${parent.typeName}/${name}`
}

/** Returns whether a method writes or issues something: it has side effects, and a scope for more than reading. */
export function isWrite(method: DescMethod): boolean {
  const scope = scopeOf(method)
  if (scope === undefined || scope === anyScope || /:(read|introspect)$/.test(scope)) return false
  return method.idempotency !== Level.NO_SIDE_EFFECTS
}

function claimedKey(call: Call): string | undefined {
  return parseKey((call.pipeline ?? call).header("authorization") ?? "")?.id
}
