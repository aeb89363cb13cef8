import type { DescMethod } from "@bufbuild/protobuf"
import { MethodOptions_IdempotencyLevel as Idempotency } from "@bufbuild/protobuf/wkt"
import { Code, ConnectError } from "@connectrpc/connect"
import { retryAfterMs } from "../errors/error.js"
import { type Layer, merged } from "./layer.js"
import { cancelled } from "./message.js"
import { pause } from "./pause.js"

/** The bounds of the random pause before the second try, in milliseconds. */
const minPauseMs = 50
const maxPauseMs = 150
/** The random fraction that is added to a retry time that the service names, so that clients do not all retry at once. */
const spread = 0.5

/** The header by which the service recognizes the repetition of a call. */
const keyHeader = "idempotency-key"

/** Gives a timeout to each call that has none of its own. The call ends within it, including its retry. */
export function deadline(defaultTimeoutMs: number): Layer {
  return (next) =>
    (method, signal, timeoutMs = defaultTimeoutMs, ...rest) =>
      next(method, signal, timeoutMs, ...rest)
}

/**
 * Retries a call once when the service is UNAVAILABLE, if the schema allows it and the timeout leaves time for it. A retry makes sense
 * for every cause of UNAVAILABLE: another connection, another replica or the database may be available a moment later.
 *
 * A call that reads may run twice (`idempotency_level`). A call that writes may have been carried out although its answer was lost. It
 * therefore carries an idempotency key (`repeatable`), which is generated unless the caller gives one. The service then answers the
 * retry as it answered the first call, and does nothing again.
 *
 * A call that the service rejects because of overload or a rate limit (RESOURCE_EXHAUSTED) is retried as well, but not before the time
 * that the service names. Without such a time, or when the deadline comes first, the rejection is thrown. So an overloaded service gets
 * each call at most once more, and not within that time.
 */
export const retry: Layer =
  (next) =>
  async (method, signal, timeoutMs = 0, header, input, contextValues) => {
    // As everywhere in Connect, a timeout of zero or less means none.
    const end = timeoutMs > 0 ? performance.now() + timeoutMs : Number.POSITIVE_INFINITY
    const sent = isRepeatable(method) ? withKey(header) : header
    try {
      return await next(method, signal, timeoutMs, sent, input, contextValues)
    } catch (error) {
      const pauseMs = mayRepeat(method) ? pauseAfter(error) : undefined
      if (pauseMs === undefined || performance.now() + pauseMs >= end) throw error
      await pause(pauseMs, signal)
      if (signal?.aborted) throw cancelled(signal)
      const leftMs = Math.floor(end - performance.now())
      if (leftMs < 1) throw error
      return next(method, signal, Math.min(leftMs, timeoutMs), sent, input, contextValues)
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
  const key = { [keyHeader]: crypto.randomUUID() }
  return header === undefined ? key : merged(key, header)
}

/** Returns the pause before the retry, in milliseconds; undefined if the call must not be retried. */
function pauseAfter(error: unknown): number | undefined {
  if (!(error instanceof ConnectError)) return undefined
  if (error.code === Code.Unavailable) return minPauseMs + Math.random() * (maxPauseMs - minPauseMs)
  if (error.code !== Code.ResourceExhausted) return undefined
  const afterMs = retryAfterMs(error)
  return afterMs === undefined ? undefined : Math.max(afterMs, minPauseMs) * (1 + Math.random() * spread)
}
