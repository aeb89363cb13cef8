import { randomUUID } from "node:crypto"
import { setMaxListeners } from "node:events"
import type { DescMethod } from "@bufbuild/protobuf"
import type { Span } from "@opentelemetry/api"
import type { Call, CallConnection } from "./call.js"
import { Failure } from "./errors.js"
import type { Identity } from "./identity.js"

/** What a listener knows of a call before it reads the request. */
export interface Incoming {
  transport: string
  /** How long the caller waits, in milliseconds; undefined if it does not say. */
  timeoutMs: number | undefined
  header(name: string): string | undefined
  /**
   * Whom the client's certificate names, as `DNS:…`, `URI:…` or `email:…`; there only if it has one that the listener has
   * verified.
   */
  certificateNames?: readonly string[] | undefined
  /** Why the transport rejects the call; undefined if it does not. */
  rejection?: Failure | undefined
  /** Undefined where a test has none. */
  connection?: CallConnection | undefined
  /**
   * Waits until the connection has a place for a call that was let in; undefined where it need not wait. Throws why it has
   * none. Absent where there is no such bound.
   *
   * @param call Its signal ends the wait, with its reason.
   */
  turn?: ((call: Call) => Promise<void> | undefined) | undefined
  /** The stream that carries the call, if one does: what was let in before a shutdown may bring calls until it ends. */
  carrier?: Call
}

/** An active call. */
export interface Running {
  readonly call: Call
  /**
   * The caller went away.
   *
   * @param isLate whether it is known that its deadline has passed; else the clock decides.
   */
  cancel(isLate?: boolean): void
  /** The call is over; must be called exactly once. */
  end(): void
}

export interface Kind {
  carries?: boolean
  away?: Away | undefined
}

/** See ConcurrencyLimit. */
type Away = <T>(call: Call, waited: Promise<T>) => Promise<T>

/** The active calls. */
export interface ActiveCalls {
  /**
   * Starts a call; one that comes while the service drains fails with SHUTTING_DOWN.
   *
   * @param kind.carries whether it is a stream that carries calls. Default: false.
   * @param kind.away gives the call's place up for a while.
   */
  begin(method: DescMethod, incoming: Incoming, kind?: Kind): Running
  /** Aborts when the service begins to drain: a stream that carries calls asks its client to go elsewhere. */
  readonly draining: AbortSignal
  /**
   * Takes no more calls: streams end at once, unary calls and what carries them get `graceMs` to finish and then fail
   * with SHUTTING_DOWN. Resolves when no call is left, or none that ends: one whose client does not read may not.
   */
  drain(graceMs: number): Promise<void>
}

// V8 makes the table of a Set or a Map anew after some deletions, and the old one points to the new. Once a table is in the
// old generation, so are in the end all that follow it, with what was in them when they were replaced: calls that ended
// long ago, until the next large collection. So what is put into a set that changes with every call lets go of the call
// when it leaves.
interface Entry {
  readonly endsAtOnce: boolean
  abort: AbortController | undefined
}

/** How long calls may take to end at the end of the grace, in milliseconds. */
const endMs = 1_000

/** @param maxDeadlineMs the longest that a unary call may take, whatever its caller asks for. */
export function activeCalls(maxDeadlineMs: number): ActiveCalls {
  const running = new Set<Entry>()
  const drain = new AbortController()
  setMaxListeners(0, drain.signal)
  let drained: (() => void) | undefined

  return {
    draining: drain.signal,

    begin(method, incoming, { carries = false, away } = {}) {
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
      return {
        call: new ActiveCall(method, incoming, deadline, abort, away),
        cancel: (isLate = false) => {
          // grpc-js tells of the end of every call as of a cancellation.
          if (entry.abort === undefined) return
          // Transports also cancel what has passed its deadline.
          const expired = isLate || (deadline !== undefined && Date.now() >= deadline)
          abort.abort(new Failure(expired ? "DEADLINE_EXCEEDED" : "CANCELLED"))
        },
        end: () => {
          clearTimeout(timer)
          running.delete(entry)
          // See above.
          entry.abort = undefined
          if (running.size === 0) drained?.()
        },
      }
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

/** A call as everybody inside sees it. */
export class ActiveCall implements Call {
  readonly method: DescMethod
  readonly transport: string
  readonly requestId: string
  readonly deadline: number | undefined
  readonly signal: AbortSignal
  readonly aside: Call["aside"]
  readonly turn: Call["turn"]
  readonly carrier: Call | undefined
  readonly connection: CallConnection | undefined
  readonly #incoming: Incoming
  readonly #abort: AbortController
  identity: Identity | undefined
  subject: string | readonly string[] | undefined
  told: Record<string, string | number> | undefined
  wrote: boolean | undefined
  unit: object | undefined
  traceId: string | undefined
  spans: readonly Span[] | undefined

  constructor(
    method: DescMethod,
    incoming: Incoming,
    deadline: number | undefined,
    abort: AbortController,
    away?: Away,
  ) {
    this.method = method
    this.transport = incoming.transport
    this.requestId = requestIdOf(incoming.header("x-request-id"))
    this.deadline = deadline
    this.#abort = abort
    this.signal = abort.signal
    this.aside = away && ((waited) => away(this, waited))
    const { turn } = incoming
    this.turn = turn && (() => turn(this))
    this.carrier = incoming.carrier
    this.#incoming = incoming
    this.connection = incoming.connection
  }

  abort(reason: unknown): void {
    this.#abort.abort(reason)
  }

  header(name: string): string | undefined {
    return this.#incoming.header(name)
  }

  get certificateNames(): readonly string[] {
    return this.#incoming.certificateNames ?? []
  }

  get tenant(): string {
    if (this.identity === undefined) throw new Error("a call without an identity has no tenant")
    return this.identity.tenant
  }
}

/** The id of a request: the caller's own if it is well-formed, else a UUID. */
export function requestIdOf(given: string | undefined): string {
  return given !== undefined && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID()
}
