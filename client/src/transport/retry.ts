import type { DescMethod } from "@bufbuild/protobuf"
import { MethodOptions_IdempotencyLevel as Idempotency } from "@bufbuild/protobuf/wkt"
import { Code, ConnectError, type Transport } from "@connectrpc/connect"
import { retryAfterMs } from "../error.js"

/** The pause before the second try, in milliseconds; where between them is left to chance. */
const minPauseMs = 50
const maxPauseMs = 150
/** Those whom the service asks to come again later come within so much more of that time, or they would come together. */
const spread = 0.5

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
 * schema says that the method may run twice (`idempotency_level`) and the deadline leaves time for it. Every reason for
 * UNAVAILABLE makes that worthwhile: another connection, another replica or the database may be there a moment later.
 * Other writes are never repeated: they may have happened although the answer was lost.
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
      try {
        return await inner.unary(method, signal, timeoutMs, header, input, contextValues)
      } catch (error) {
        const pauseMs = mayRepeat(method) ? pauseAfter(error, random) : undefined
        if (pauseMs === undefined || now() + pauseMs >= end) throw error
        await pause(pauseMs, signal)
        if (signal?.aborted) throw ConnectError.from(signal.reason, Code.Canceled)
        const leftMs = Math.floor(end - now())
        if (leftMs < 1) throw error
        return inner.unary(method, signal, Math.min(leftMs, timeoutMs), header, input, contextValues)
      }
    },
    stream: (method, signal, timeoutMs, header, input, contextValues) =>
      inner.stream(method, signal, timeoutMs, header, input, contextValues),
  }
}

function mayRepeat(method: DescMethod): boolean {
  return method.idempotency === Idempotency.NO_SIDE_EFFECTS || method.idempotency === Idempotency.IDEMPOTENT
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
