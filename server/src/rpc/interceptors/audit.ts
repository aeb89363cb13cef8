import type { DescMethod, Message } from "@bufbuild/protobuf"
import { MethodOptions_IdempotencyLevel as Level } from "@bufbuild/protobuf/wkt"
import { status } from "@grpc/grpc-js"
import { parseKey } from "../../auth/api-key.js"
import { anyScope, scopeOf } from "../../auth/scopes.js"
import { shownSubject, subjectOf, toldOf } from "../../auth/subject.js"
import type { Call } from "../call.js"
import { codeOf, Failure, type Reason } from "../errors.js"
import type { Interceptor } from "../interceptor.js"

/** Tells of every write and of every call that was rejected, one line each, and never of what is in them. */
export interface Audit {
  /** Finds whose data the writes are about, and rejects them while they may not be. */
  readonly interceptor: Interceptor
  /** What hears of the calls of a method that are over; with a failure if they failed. Made once. */
  of(method: DescMethod): (call: Call, failure: Failure | undefined) => void
  /** Hears of a call that failed before it began: whose it is, nobody has asked. */
  rejected(method: DescMethod, failure: Failure, requestId: string): void
  /** Tells of lines that are not there, where they would be. */
  lost(lines: number): void
  /** Writes what is still to be told. */
  flush(): void
}

export interface AuditOptions {
  /** Takes a line, with its end. */
  write: (line: string) => void
  /** Takes the line of a write that was let in. Default: `write`. */
  writeOfWrite?: (line: string) => void
  /** Whether calls that write are let in. Default: always. */
  mayWrite?: () => boolean
  /** The time in milliseconds since 1970. */
  now: () => number
}

const rejections: ReadonlySet<Reason> = new Set([
  "API_KEY_MISSING",
  "API_KEY_INVALID",
  "SCOPE_MISSING",
  "RATE_LIMITED",
  "OVERLOADED",
  "AUDIT_LOG_UNAVAILABLE",
])

/** How many rejected calls of one key, or of all without a valid one, are told of in a second, for each reason. */
const toldPerSecond = 10

interface Rejected {
  count: number
  last: Record<string, unknown>
}

/**
 * Whoever is rejected can come again at any rate, so of many rejected calls only the first ten in a second are told of one
 * by one, for each key and reason; the rest of them is one line with their number. Writes are told of one by one.
 */
export function audit({ write, writeOfWrite = write, mayWrite = () => true, now }: AuditOptions): Audit {
  const rejected = new Map<string, Rejected>()
  let timer: NodeJS.Timeout | undefined

  const lineOf = (entry: Record<string, unknown>, event = "audit"): string =>
    `${JSON.stringify({ time: new Date(now()).toISOString(), event, ...entry })}\n`

  const flush = (): void => {
    clearTimeout(timer)
    for (const { count, last } of rejected.values()) {
      if (count > toldPerSecond) write(lineOf({ ...last, count: count - toldPerSecond }))
    }
    rejected.clear()
  }

  const reject = (about: string, tellOne: () => Record<string, unknown>): void => {
    let entry = rejected.get(about)
    if (entry === undefined) {
      if (rejected.size === 0) {
        timer = setTimeout(flush, 1_000)
        timer.unref()
      }
      const { key, tenant, code, reason } = tellOne()
      entry = { count: 0, last: { key, tenant, code, reason } }
      rejected.set(about, entry)
    }
    entry.count++
    if (entry.count <= toldPerSecond) write(lineOf(tellOne()))
  }

  return {
    interceptor: {
      admit(method) {
        if (!isWrite(method)) return undefined
        return () => {
          if (!mayWrite()) throw new Failure("AUDIT_LOG_UNAVAILABLE", { retryAfterMs: 1_000 })
          return undefined
        }
      },
      unary(method, next) {
        const subject = isWrite(method) ? subjectOf(method) : undefined
        const told = isWrite(method) ? toldOf(method) : []
        if (subject === undefined && told.length === 0) return next
        const hear = (where: "request" | "answer", message: Message, call: Call) => {
          if (subject?.in === where) call.subject = subject.find(message)
          for (const one of told) {
            const value = one.in === where ? one.find(message) : undefined
            if (value !== undefined) call.told = { ...call.told, [one.name]: value }
          }
        }
        return async (request: Message, call: Call) => {
          hear("request", request, call)
          const answer = await next(request, call)
          hear("answer", answer, call)
          if (Array.isArray(call.subject) && "processed" in answer) call.subject.splice(Number(answer.processed))
          return answer
        }
      },
    },

    of(method) {
      const isTold = isWrite(method)
      const name = nameOf(method)
      return (call, failure) => {
        const isRejected = failure !== undefined && rejections.has(failure.reason)
        if ((!isTold || call.wrote === false) && !isRejected) return
        const { identity, told } = call
        const who = { key: identity?.keyId, tenant: identity?.tenant }
        const outcome =
          failure === undefined ? { code: "OK" } : { code: status[codeOf(failure.reason)], reason: failure.reason }
        const entry = (subject?: string) => ({
          ...who,
          // Who still comes with a key that was revoked is worth knowing. Anybody can say so.
          claimed_key: failure?.reason === "API_KEY_INVALID" ? claimedKey(call) : undefined,
          method: name,
          subject: subject === undefined ? undefined : shownSubject(subject),
          ...told,
          ...outcome,
          request_id: call.requestId,
          trace_id: call.traceId,
        })
        const subjects = [call.subject].flat()
        if (isRejected) reject(`${who.key ?? ""} ${failure.reason}`, () => entry(subjects[0]))
        else for (const subject of subjects) writeOfWrite(lineOf(entry(subject)))
      }
    },

    rejected(method, { reason }, requestId) {
      if (!rejections.has(reason)) return
      const code = status[codeOf(reason)]
      reject(` ${reason}`, () => ({ method: nameOf(method), code, reason, request_id: requestId }))
    },

    lost: (lines) => write(lineOf({ lines }, "audit-lost")),

    flush,
  }
}

function nameOf({ parent, name }: DescMethod): string {
  return `${parent.typeName}/${name}`
}

/** Whether a method writes, or issues something: neither declared free of side effects nor open to who may only read. */
export function isWrite(method: DescMethod): boolean {
  const scope = scopeOf(method)
  if (scope === undefined || scope === anyScope || /:(read|introspect)$/.test(scope)) return false
  return method.idempotency !== Level.NO_SIDE_EFFECTS
}

function claimedKey(call: Call): string | undefined {
  return parseKey((call.carrier ?? call).header("authorization") ?? "")?.id
}
