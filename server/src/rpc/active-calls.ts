import { setMaxListeners } from "node:events"
import type { DescMethod } from "@bufbuild/protobuf"
import { Failure } from "../errors/failure.js"
import type { ConcurrencyLimit } from "../overload/concurrency-limit.js"
import { Call, type CallOptions } from "./call.js"

/** The calls that have begun and not ended. */
export interface ActiveCalls {
  /**
   * Starts a call. A call that arrives while the service drains fails with SHUTTING_DOWN.
   *
   * @param isPipeline Whether it is a stream that carries calls. Default: false.
   */
  begin(method: DescMethod, options: CallOptions, limit?: ConcurrencyLimit, isPipeline?: boolean): Call
  /** Aborts when the service begins to drain. A stream that carries calls then asks its client to move to another one. */
  readonly draining: AbortSignal
  /**
   * Drains the service. It takes no more calls, and streams end at once. Unary calls, and streams that carry them, get `graceMs` to
   * finish and then fail with SHUTTING_DOWN. Resolves when no call is left, or a second after that: a call whose client does
   * not read its answer may never end.
   */
  drain(graceMs: number): Promise<void>
}

// V8 replaces the table of a Set or a Map after some deletions, and the old table keeps a reference to the new one. Once one table is
// in the old generation, its successors follow, with the entries that they had when they were replaced. So a removed entry
// may live until the next major garbage collection. Therefore entries of a set that changes with every call drop their reference to the
// call when they are removed.
interface Entry {
  readonly endsAtOnce: boolean
  abort: AbortController | undefined
}

/** The time that calls have to end after the grace period, in milliseconds. */
const endMs = 1_000

/** @param maxDeadlineMs The longest deadline of a unary call, whatever its caller asks for. */
export function activeCalls(maxDeadlineMs: number): ActiveCalls {
  const running = new Set<Entry>()
  const drain = new AbortController()
  setMaxListeners(0, drain.signal)
  let drained: (() => void) | undefined

  return {
    draining: drain.signal,

    begin(method, options, limit, isPipeline = false) {
      const abort = new AbortController()
      const { rejection } = options
      const unary = method.methodKind === "unary"
      const timeoutMs = unary ? Math.min(options.timeoutMs ?? maxDeadlineMs, maxDeadlineMs) : options.timeoutMs
      const timer =
        timeoutMs === undefined || rejection !== undefined
          ? undefined
          : setTimeout(
              () => abort.abort(new Failure("DEADLINE_EXCEEDED")),
              Math.min(Math.max(timeoutMs, 0), 0x7fffffff),
            )
      const entry: Entry = { endsAtOnce: !unary && !isPipeline, abort }
      const deadline = timeoutMs === undefined ? undefined : Date.now() + timeoutMs
      if (timeoutMs !== undefined && timeoutMs <= 0) abort.abort(new Failure("DEADLINE_EXCEEDED"))
      if (rejection !== undefined) abort.abort(rejection)
      running.add(entry)
      if (drain.signal.aborted && options.pipeline === undefined) abort.abort(new Failure("SHUTTING_DOWN"))
      return new Call(method, options, {
        deadline,
        abort,
        limit,
        onEnd: () => {
          clearTimeout(timer)
          running.delete(entry)
          // See Entry.
          entry.abort = undefined
          if (running.size === 0) drained?.()
        },
      })
    },

    async drain(graceMs) {
      drain.abort()
      for (const entry of running) if (entry.endsAtOnce) entry.abort?.abort(new Failure("SHUTTING_DOWN"))
      if (running.size === 0) return
      const finished = new Promise<void>((resolve) => {
        drained = resolve
      })
      let timer = setTimeout(() => {
        for (const entry of running) entry.abort?.abort(new Failure("SHUTTING_DOWN"))
        timer = setTimeout(() => drained?.(), endMs)
      }, graceMs)
      await finished
      clearTimeout(timer)
    },
  }
}
