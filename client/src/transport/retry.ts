import type { DescMethod } from "@bufbuild/protobuf"
import { MethodOptions_IdempotencyLevel as Idempotency } from "@bufbuild/protobuf/wkt"
import { Code, ConnectError, type Transport } from "@connectrpc/connect"
import { retryAfterMs } from "../errors/error.js"

/** The bounds of the random pause before the second try, in milliseconds. */
const minPauseMs = 50
const maxPauseMs = 150
/** The random fraction that is added to a retry time that the service names, so that clients do not all retry at once. */
const spread = 0.5

/** The header by which the service recognizes the repetition of a call. */
const keyHeader = "idempotency-key"

/** Options of deadlines and retries. */
export interface RetryOptions {
  /** The deadline of a call that has none of its own, in milliseconds. It includes the second try. */
  timeoutMs: number
  /** A monotonic clock, in milliseconds. Default: `performance.now`. */
  now?: () => number
  /** A random number from 0 to 1. Default: `Math.random`. */
  random?: () => number
  /** Waits; returns early when the signal aborts. Default: a timer. */
  pause?: (ms: number, signal: AbortSignal | undefined) => Promise<void>
}

/**
 * A transport that gives every call a deadline and retries a unary call once when the service is UNAVAILABLE, if the schema allows it and
 * the deadline leaves time for it. A retry makes sense for every cause of UNAVAILABLE: another connection, another replica or
 * the database may be available a moment later.
 *
 * A call that reads may run twice (`idempotency_level`). A call that writes may have been carried out although its answer was lost. It
 * therefore carries an idempotency key (`repeatable`), which is generated unless the caller gives one. The service then answers the
 * retry as it answered the first call, and does nothing again.
 *
 * A call that the service rejects because of overload or a rate limit (RESOURCE_EXHAUSTED) is retried as well, but not before the time
 * that the service names. Without such a time, or when the deadline comes first, the rejection is thrown. So an overloaded service gets
 * each call at most once more, and not within that time.
 */
export function retryTransport(inner: Transport, options: RetryOptions): Transport {
  const { timeoutMs: defaultTimeoutMs, now = () => performance.now(), random = Math.random, pause = timer } = options
  return {
    async unary(method, signal, timeoutMs = defaultTimeoutMs, header, input, contextValues) {
      // As everywhere in Connect, a timeout of zero or less means none.
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

/** The field number of the option `repeatable` in the schema. */
export const repeatableNumber = 50053

/** Whether a method takes an idempotency key. Reads the raw option, because the code that decodes options would double the size of the bundle. */
function isRepeatable({ proto }: DescMethod): boolean {
  return proto.options?.$unknown?.some(({ no }) => no === repeatableNumber) === true
}

function withKey(header: HeadersInit | undefined): HeadersInit {
  if (header === undefined) return { [keyHeader]: crypto.randomUUID() }
  const headers = new Headers(header)
  if (!headers.has(keyHeader)) headers.set(keyHeader, crypto.randomUUID())
  return headers
}

/** Returns the pause before the retry, in milliseconds; undefined if the call must not be retried. */
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
