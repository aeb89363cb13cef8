import { randomUUID } from "node:crypto"
import type { DescMethod, DescService, MessageInitShape, MessageShape } from "@bufbuild/protobuf"
import type { Span } from "@opentelemetry/api"
import type { Identity } from "../auth/identity.js"
import { Failure } from "../errors/failure.js"
import type { ConcurrencyLimit } from "../overload/concurrency-limit.js"
import type { Caller, Transaction, Waiter } from "../store/store.js"
import type { Budgets } from "../util/budget.js"
import type { Owner } from "../util/owner.js"

/** The connection of a call, with its memory budgets. */
export interface CallConnection extends Budgets {
  /**
   * The names in the client's certificate, as `DNS:…`, `URI:…` or `email:…`. Only set if the listener has verified a certificate of the
   * client.
   */
  readonly certificateNames: readonly string[] | undefined
  /** Counts a request that did not become a call, or a call without a valid API key. */
  countUnauthenticated(): void
  /**
   * Takes one request from the rate limit for health. Returns 0 if one was available, else the milliseconds until the
   * next one is.
   */
  takeHealthRequest(): number
}

/**
 * What an answer has beside its messages. This lets a test host services of other schemas, which send metadata, on the real listeners.
 * Authwire's own methods send none.
 */
export interface AnswerMetadata {
  readonly header: Headers
  readonly trailer: Headers
}

/** What a listener knows about a call when its header has arrived. */
export interface CallOptions {
  /** The transport of the call: `grpc`, `http` or `pipeline`. */
  transport: string
  /** The caller's timeout in milliseconds; undefined if it gives none. */
  timeoutMs: number | undefined
  /** Returns the first value of a request header, by its lower-case name. */
  header(name: string): string | undefined
  /** Undefined for a call of a pipeline, and in tests. */
  connection?: CallConnection | undefined
  /**
   * Whether the client's certificate takes precedence over the API key in the header, if a key exists for one of its names. True if
   * the client is a proxy that may forward a key of its own client in that header. Default: false.
   */
  prefersCertificate?: boolean
  /** The identity of the caller, if the listener has established it by something else than a key: the signature of a signal. */
  identity?: Identity
  /** The reason why the transport rejects the call; undefined if it does not. */
  rejection?: Failure | undefined
  /**
   * Waits until the connection may have another admitted call. Returns undefined if the call need not wait, and throws the rejection if
   * too many wait. Absent where there is no such limit.
   *
   * @param call Its signal ends the wait with its reason.
   */
  acquireSlot?: ((call: Call) => Promise<void> | undefined) | undefined
  /** The stream that carries the call, if it is a call of a pipeline. A stream that was admitted before a shutdown may carry calls until it ends. */
  pipeline?: Call
}

/** What the service decides about a call when it begins. */
interface Begun {
  deadline: number | undefined
  abort: AbortController
  onEnd: () => void
}

/** The owner of calls without an identity. */
const nobody: Owner = { tenant: "", keyId: undefined }

/** One call of one method, from its header to its answer. Every listener begins calls with `Method.begin`. */
export class Call implements Waiter {
  readonly method: DescMethod
  readonly transport: string
  /** The id of the call in the log and in errors: the caller's `x-request-id` if that is well-formed, else a UUID. */
  readonly requestId: string
  /** The deadline of the call by `performance.now()`, in milliseconds; undefined if it has none. */
  readonly deadline: number | undefined
  /** Aborts when the caller cancels, the deadline passes, a shutdown ends the call, or `abort` is called. */
  readonly signal: AbortSignal
  /** The stream that carries the call, if it is a call of a pipeline. */
  readonly pipeline: Call | undefined
  readonly connection: CallConnection | undefined
  /** The concurrency limit that has admitted the call; undefined when the call has left it. */
  admittedBy: Pick<ConcurrencyLimit, "leave"> | undefined
  /** What it takes of this limit. */
  cost = 1
  /** The identity of the caller; undefined until the call is authenticated. */
  identity: Identity | undefined
  /** Whether the stream of the call counts against the limits of its key. Only then a rejected call may be held for a pause. */
  isCounted = false
  /** False if a call of a method that does not always write has written nothing. The audit log then omits the call. */
  hasWritten: boolean | undefined
  /** The id of the call's trace, for logs. Undefined if the trace is neither recorded here nor known to the caller. */
  traceId: string | undefined
  /** Only services of tests set it, before the first answer. */
  metadata: AnswerMetadata | undefined
  /** The span of the call, if it is recorded. */
  spans: readonly Span[] | undefined
  readonly #options: CallOptions
  readonly #abort: AbortController
  readonly #onEnd: () => void
  #hasEnded = false

  constructor(method: DescMethod, options: CallOptions, { deadline, abort, onEnd }: Begun) {
    this.method = method
    this.transport = options.transport
    this.requestId = requestIdOf(options.header("x-request-id"))
    this.deadline = deadline
    this.signal = abort.signal
    this.pipeline = options.pipeline
    this.connection = options.connection
    this.#options = options
    this.#abort = abort
    this.#onEnd = onEnd
  }

  /** See CallOptions. */
  header(name: string): string | undefined {
    return this.#options.header(name)
  }

  /** See CallOptions. */
  acquireSlot(): Promise<void> | undefined {
    return this.#options.acquireSlot?.(this)
  }

  /** See CallOptions. */
  get givenIdentity(): Identity | undefined {
    return this.#options.identity
  }

  /** See CallOptions. */
  get prefersCertificate(): boolean {
    return this.#options.prefersCertificate === true
  }

  /** Whose share of the limits the call uses. All calls that are not authenticated share one. */
  get owner(): Owner {
    return this.identity ?? nobody
  }

  /**
   * Gives up the slot in the concurrency limit, if the call has one. A call does so before it ends if it then only waits for something
   * outside of the service, after which little work is left.
   */
  leaveLimit(): void {
    this.admittedBy?.leave(this.owner, this.cost)
    this.admittedBy = undefined
  }

  /** Aborts the call. The caller gets `reason` as the error. */
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
    const expired = isLate || (this.deadline !== undefined && performance.now() >= this.deadline)
    this.abort(new Failure(expired ? "DEADLINE_EXCEEDED" : "CANCELLED"))
  }

  /** Ends the call. Must be called exactly once. */
  end(): void {
    this.#hasEnded = true
    this.#onEnd()
  }
}

/** Returns the id of a request: the caller's own if it is well formed, otherwise a new UUID. */
export function requestIdOf(given: string | undefined): string {
  return given !== undefined && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID()
}

/** Returns the caller of a call for the store. A call without an identity has the tenant "", which nobody can create. */
export function callerOf({ owner, signal, spans }: Call, transaction?: Transaction): CallerOfCall {
  return Object.freeze({ tenant: owner.tenant, ofTenant: owner.tenant, signal, spans, transaction })
}

/** The caller of a call, which can be cancelled. */
export type CallerOfCall = Caller & { readonly signal: AbortSignal }

type Handler<M extends DescMethod> = M["methodKind"] extends "unary"
  ? (request: MessageShape<M["input"]>, caller: CallerOfCall, call: Call) => Promise<MessageInitShape<M["output"]>>
  : M["methodKind"] extends "server_streaming"
    ? (
        request: MessageShape<M["input"]>,
        caller: CallerOfCall,
        call: Call,
      ) => AsyncIterable<MessageInitShape<M["output"]>>
    : (
        requests: AsyncIterable<MessageShape<M["input"]>>,
        caller: CallerOfCall,
        call: Call,
      ) => AsyncIterable<MessageInitShape<M["output"]>>

/** The handlers of a service, by method name: an object literal from a function that takes the dependencies. */
export type Implementation<S extends DescService> = { [K in keyof S["method"]]: Handler<S["method"][K]> }
