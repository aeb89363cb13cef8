import type { DescMethod } from "@bufbuild/protobuf"
import { MethodOptions_IdempotencyLevel as Idempotency } from "@bufbuild/protobuf/wkt"
import { Code, ConnectError, type Transport } from "@connectrpc/connect"
import { retryAfterMs } from "../error.js"

/** The pause before the second try, in milliseconds; where between them is left to chance. */
const minPauseMs = 50
const maxPauseMs = 150
/** Those whom the service asks to come again later come within so much more of that time, or they would come together. */
const spread = 0.5

/** Names a call and its repetition, for the service to know that they are one. */
const keyHeader = "idempotency-key"

/** How calls are bounded and repeated. */
export interface RetryOptions {
  /** The deadline of a call that brings none of its own, in milliseconds. The second try is inside it. */
  timeoutMs: number
  /** A monotonic clock, in milliseconds. Default: `performance.now`. */
  now?: () => number
  /** A number from 0 to 1. Default: `Math.random`. */
  random?: () => number
  /** Waits; returns early when the signal aborts. Default: a timer. */
  pause?: (ms: number, signal: AbortSignal | undefined) => Promise<void>
}

/**
 * A transport that gives every call a deadline and repeats a unary call once when the service is UNAVAILABLE, if the
 * schema says that it may be and the deadline leaves time for it. Every reason for UNAVAILABLE makes that worthwhile:
 * another connection, another replica or the database may be there a moment later.
 *
 * A call that reads may run twice (`idempotency_level`). A call that writes may have been done although its answer was lost,
 * so it gets an idempotency key, unless its caller has given it one (`repeatable`): then its repetition is answered as the
 * first call was, and nothing is done again.
 *
 * What the service rejects because there is too much (RESOURCE_EXHAUSTED) is repeated in the same way, but not before the
 * time that the service names: without one, or when the deadline comes before it, the rejection is the answer. So a service
 * that is overloaded gets no call twice within that time, and each at the most once more.
 */
export function retryTransport(inner: Transport, options: RetryOptions): Transport {
  const { timeoutMs: defaultTimeoutMs, now = () => performance.now(), random = Math.random, pause = timer } = options
  return {
    async unary(method, signal, timeoutMs = defaultTimeoutMs, header, input, contextValues) {
      // As everywhere in Connect, a time-out of zero or less means none.
      const end = timeoutMs > 0 ? now() + timeoutMs : Number.POSITIVE_INFINITY
      const sent = isRepeatable(method) ? withKey(header) : header
      try {
        return await inner.unary(method, signal, timeoutMs, sent, input, contextValues)
      } catch (error) {
        const pauseMs = mayRepeat(method) ? pauseAfter(error, random) : undefined
        if (pauseMs === undefined || now() + pauseMs >= end) throw error
        await pause(pauseMs, signal)
        if (signal?.aborted) throw ConnectError.from(signal.reason, Code.Canceled)
        const leftMs = Math.floor(end - now())
        if (leftMs < 1) throw error
        return inner.unary(method, signal, Math.min(leftMs, timeoutMs), sent, input, contextValues)
      }
    },
    stream: (method, signal, timeoutMs, header, input, contextValues) =>
      inner.stream(method, signal, timeoutMs, header, input, contextValues),
  }
}

function mayRepeat(method: DescMethod): boolean {
  const { idempotency } = method
  return isRepeatable(method) || idempotency === Idempotency.NO_SIDE_EFFECTS || idempotency === Idempotency.IDEMPOTENT
}

/** The number of the option `repeatable` of the schema. */
export const repeatableNumber = 50053

/** What the schema says of a method. Read as it came: what knows options would double the size of this part in a bundle. */
function isRepeatable({ proto }: DescMethod): boolean {
  return proto.options?.$unknown?.some(({ no }) => no === repeatableNumber) === true
}

function withKey(header: HeadersInit | undefined): HeadersInit {
  if (header === undefined) return { [keyHeader]: crypto.randomUUID() }
  const headers = new Headers(header)
  if (!headers.has(keyHeader)) headers.set(keyHeader, crypto.randomUUID())
  return headers
}

/** How long to wait after an error, in milliseconds; undefined if the call is not to be repeated. */
function pauseAfter(error: unknown, random: () => number): number | undefined {
  if (!(error instanceof ConnectError)) return undefined
  if (error.code === Code.Unavailable) return minPauseMs + random() * (maxPauseMs - minPauseMs)
  if (error.code !== Code.ResourceExhausted) return undefined
  const afterMs = retryAfterMs(error)
  return afterMs === undefined ? undefined : Math.max(afterMs, minPauseMs) * (1 + random() * spread)
}

function timer(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timeout)
      signal?.removeEventListener("abort", done)
      resolve()
    }
    const timeout = setTimeout(done, ms)
    signal?.addEventListener("abort", done)
    if (signal?.aborted) done()
  })
}
