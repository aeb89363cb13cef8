import { randomUUID } from "node:crypto"
import { setMaxListeners } from "node:events"
import type { DescMethod } from "@bufbuild/protobuf"
import type { Span } from "@opentelemetry/api"
import type { Identity } from "../auth/identity.js"
import { Failure } from "../errors/failure.js"
import type { Call, CallConnection } from "./call.js"

/** What a listener knows about a call before it reads the request. */
export interface Incoming {
  transport: string
  /** The caller's timeout in milliseconds; undefined if it gives none. */
  timeoutMs: number | undefined
  header(name: string): string | undefined
  /**
   * The names in the client's certificate, as `DNS:…`, `URI:…` or `email:…`. Only set if the listener has verified a certificate
   * of the client.
   */
  certificateNames?: readonly string[] | undefined
  /**
   * Whether the client's certificate takes precedence over the API key in the header, if a key exists for one of its names. True if
   * the client is a proxy that may forward a key of its own client in that header. Default: false.
   */
  prefersCertificate?: boolean
  /** The reason why the transport rejects the call; undefined if it does not. */
  rejection?: Failure | undefined
  /** Undefined only in tests. */
  connection?: CallConnection | undefined
  /**
   * Waits until the connection may have another admitted call. Returns undefined if the call need not wait, and throws the rejection if
   * too many wait. Absent where there is no such limit.
   *
   * @param call Its signal ends the wait with its reason.
   */
  turn?: ((call: Call) => Promise<void> | undefined) | undefined
  /** The stream that carries the call, if one does. A stream that was admitted before a shutdown may carry calls until it ends. */
  carrier?: Call
}

export interface Kind {
  carries?: boolean
  yieldWhile?: YieldWhile | undefined
}

/** See ConcurrencyLimit. */
type YieldWhile = <T>(call: Call, waited: Promise<T>) => Promise<T>

/** The calls that have begun and not ended. */
export interface ActiveCalls {
  /**
   * Starts a call. A call that arrives while the service drains fails with SHUTTING_DOWN.
   *
   * @param kind.carries Whether it is a stream that carries calls. Default: false.
   * @param kind.yieldWhile Gives the call's slot in the concurrency limit to other calls while it waits.
   */
  begin(method: DescMethod, incoming: Incoming, kind?: Kind): ActiveCall
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

    begin(method, incoming, { carries = false, yieldWhile } = {}) {
      const abort = new AbortController()
      const { rejection } = incoming
      const unary = method.methodKind === "unary"
      const timeoutMs = unary ? Math.min(incoming.timeoutMs ?? maxDeadlineMs, maxDeadlineMs) : incoming.timeoutMs
      const timer =
        timeoutMs === undefined || rejection !== undefined
          ? undefined
          : setTimeout(
              () => abort.abort(new Failure("DEADLINE_EXCEEDED")),
              Math.min(Math.max(timeoutMs, 0), 0x7fffffff),
            )
      const entry: Entry = { endsAtOnce: !unary && !carries, abort }
      const deadline = timeoutMs === undefined ? undefined : Date.now() + timeoutMs
      if (timeoutMs !== undefined && timeoutMs <= 0) abort.abort(new Failure("DEADLINE_EXCEEDED"))
      if (rejection !== undefined) abort.abort(rejection)
      running.add(entry)
      if (drain.signal.aborted && incoming.carrier === undefined) abort.abort(new Failure("SHUTTING_DOWN"))
      return new ActiveCall(method, incoming, {
        deadline,
        abort,
        yieldWhile,
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

interface ActiveCallOptions {
  deadline: number | undefined
  abort: AbortController
  yieldWhile: YieldWhile | undefined
  onEnd: () => void
}

/** A call as the interceptors and services see it, and with `cancel` and `end` as its listener does. */
export class ActiveCall implements Call {
  readonly method: DescMethod
  readonly transport: string
  readonly requestId: string
  readonly deadline: number | undefined
  readonly signal: AbortSignal
  readonly whileWaiting: Call["whileWaiting"]
  readonly turn: Call["turn"]
  readonly carrier: Call | undefined
  readonly connection: CallConnection | undefined
  readonly #incoming: Incoming
  readonly #abort: AbortController
  readonly #onEnd: () => void
  #hasEnded = false
  identity: Identity | undefined
  subject: string | readonly string[] | undefined
  auditFields: Record<string, string | number> | undefined
  hasWritten: boolean | undefined
  transaction: Call["transaction"]
  traceId: string | undefined
  spans: readonly Span[] | undefined

  constructor(method: DescMethod, incoming: Incoming, { deadline, abort, yieldWhile, onEnd }: ActiveCallOptions) {
    this.method = method
    this.transport = incoming.transport
    this.requestId = requestIdOf(incoming.header("x-request-id"))
    this.deadline = deadline
    this.#abort = abort
    this.signal = abort.signal
    this.#onEnd = onEnd
    this.whileWaiting = yieldWhile && ((waited) => yieldWhile(this, waited))
    const { turn } = incoming
    this.turn = turn && (() => turn(this))
    this.carrier = incoming.carrier
    this.#incoming = incoming
    this.connection = incoming.connection
  }

  abort(reason: unknown): void {
    this.#abort.abort(reason)
  }

  /**
   * Cancels the call because the caller has gone.
   *
   * @param isLate Whether the deadline is known to have passed. Default: the clock decides.
   */
  cancel(isLate = false): void {
    // Listeners report the end of every call as a cancellation.
    if (this.#hasEnded) return
    // Transports also cancel a call whose deadline has passed.
    const expired = isLate || (this.deadline !== undefined && Date.now() >= this.deadline)
    this.abort(new Failure(expired ? "DEADLINE_EXCEEDED" : "CANCELLED"))
  }

  /** Ends the call. Must be called exactly once. */
  end(): void {
    this.#hasEnded = true
    this.#onEnd()
  }

  header(name: string): string | undefined {
    return this.#incoming.header(name)
  }

  get certificateNames(): readonly string[] {
    return this.#incoming.certificateNames ?? []
  }

  get prefersCertificate(): boolean {
    return this.#incoming.prefersCertificate === true
  }

  get tenant(): string {
    if (this.identity === undefined) throw new Error("a call without an identity has no tenant")
    return this.identity.tenant
  }
}

/** Returns the id of a request: the caller's own if it is well formed, otherwise a new UUID. */
export function requestIdOf(given: string | undefined): string {
  return given !== undefined && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID()
}
