import { setMaxListeners } from "node:events"
import type { DescMethod } from "@bufbuild/protobuf"
import { Failure } from "../errors/failure.js"
import { Call, type CallOptions } from "./call.js"

// V8 replaces the table of a Set or a Map after some deletions, and the old table keeps a reference to the new one. Once one table is
// in the old generation, its successors follow, with the entries that they had when they were replaced. So a removed entry
// may live until the next major garbage collection. Therefore entries of a set that changes with every call drop their reference to the
// call when they are removed.
interface Entry {
  readonly endsAtOnce: boolean
  abort: AbortController | undefined
  call?: Call | undefined
}

/** The time that calls have to end after the grace period, in milliseconds. */
const endMs = 1_000

/**
 * The interval at which active calls are checked again, in milliseconds. A cached key is valid for 4.5 seconds, and a call
 * has to end within 5 seconds after its key is revoked.
 */
const recheckMs = 400

/** The calls that have begun and not ended. */
export class ActiveCalls {
  readonly #maxDeadlineMs: number
  readonly #running = new Set<Entry>()
  readonly #drain = new AbortController()
  readonly #recheck: (call: Call) => void
  #drained: (() => void) | undefined
  /** Runs while there are calls. */
  #rechecking: NodeJS.Timeout | undefined

  /**
   * @param maxDeadlineMs The longest deadline of a unary call, whatever its caller asks for.
   * @param recheck Called for each call at regular intervals while it lasts, so that what has admitted it still holds when a
   *   call that has waited is answered. Default: nothing.
   */
  constructor(maxDeadlineMs: number, recheck: (call: Call) => void = () => {}) {
    this.#maxDeadlineMs = maxDeadlineMs
    this.#recheck = recheck
    setMaxListeners(0, this.draining)
  }

  /** Aborts when the service begins to drain. A stream that carries calls then asks its client to move to another one. */
  get draining(): AbortSignal {
    return this.#drain.signal
  }

  /**
   * Starts a call. A call that arrives while the service drains fails with SHUTTING_DOWN.
   *
   * @param isPipeline Whether it is a stream that carries calls. Default: false.
   */
  begin(method: DescMethod, options: CallOptions, isPipeline = false): Call {
    const abort = new AbortController()
    const { rejection } = options
    const isUnary = method.methodKind === "unary"
    const timeoutMs = isUnary
      ? Math.min(options.timeoutMs ?? this.#maxDeadlineMs, this.#maxDeadlineMs)
      : options.timeoutMs
    const late = () => abort.abort(new Failure("DEADLINE_EXCEEDED"))
    const timer =
      timeoutMs === undefined || rejection !== undefined
        ? undefined
        : setTimeout(late, Math.min(Math.max(timeoutMs, 0), 0x7fffffff))
    const entry: Entry = { endsAtOnce: !isUnary && !isPipeline, abort }
    const deadline = timeoutMs === undefined ? undefined : performance.now() + timeoutMs
    if (timeoutMs !== undefined && timeoutMs <= 0) late()
    if (rejection !== undefined) abort.abort(rejection)
    this.#running.add(entry)
    if (this.draining.aborted && options.pipeline === undefined) abort.abort(new Failure("SHUTTING_DOWN"))
    const onEnd = () => {
      clearTimeout(timer)
      this.#running.delete(entry)
      // See Entry.
      entry.abort = undefined
      entry.call = undefined
      if (this.#running.size === 0) this.#drained?.()
    }
    entry.call = new Call(method, options, { deadline, abort, onEnd })
    this.#rechecking ??= setInterval(() => this.#recheckAll(), recheckMs).unref()
    return entry.call
  }

  #recheckAll(): void {
    for (const { call } of this.#running) if (call !== undefined) this.#recheck(call)
    if (this.#running.size > 0) return
    clearInterval(this.#rechecking)
    this.#rechecking = undefined
  }

  /**
   * Drains the service. It takes no more calls, and streams end at once. Unary calls, and streams that carry them, get `graceMs` to
   * finish and then fail with SHUTTING_DOWN. Resolves when no call is left, or a second after that: a call whose client does
   * not read its answer may never end.
   */
  async drain(graceMs: number): Promise<void> {
    this.#drain.abort()
    for (const entry of this.#running) if (entry.endsAtOnce) entry.abort?.abort(new Failure("SHUTTING_DOWN"))
    if (this.#running.size === 0) return
    const finished = new Promise<void>((resolve) => {
      this.#drained = resolve
    })
    let timer = setTimeout(() => {
      for (const entry of this.#running) entry.abort?.abort(new Failure("SHUTTING_DOWN"))
      timer = setTimeout(() => this.#drained?.(), endMs)
    }, graceMs)
    await finished
    clearTimeout(timer)
  }
}
