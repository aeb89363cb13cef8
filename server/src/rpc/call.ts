import type { DescMethod, DescService, MessageInitShape, MessageShape } from "@bufbuild/protobuf"
import type { Span } from "@opentelemetry/api"
import type { Identity } from "../auth/identity.js"
import type { Budgets } from "../overload/budget.js"
import type { Caller, Transaction } from "../store/store.js"

/** The connection of a call, with its memory budgets. */
export interface CallConnection extends Budgets {
  /** Counts a request that did not become a call, or a call without a valid API key. */
  countUnauthenticated(): void
  /**
   * Takes one request from the rate limit for health. Returns 0 if one was available, else the milliseconds until the
   * next one is.
   */
  takeHealthRequest(): number
}

/** One call of one method. Every listener creates the same type. */
export interface Call extends Caller {
  readonly method: DescMethod
  /** The transport of the call: `grpc`, `http` or `pipeline`. */
  readonly transport: string
  /** The id of the call in the log and in errors: the caller's `x-request-id` if that is well-formed, else a UUID. */
  readonly requestId: string
  /** The deadline of the call, in milliseconds since 1970; undefined if it has none. */
  readonly deadline: number | undefined
  /** Aborts when the caller cancels, the deadline passes, a shutdown ends the call, or `abort` is called. */
  readonly signal: AbortSignal
  /** Aborts the call. The caller gets `reason` as the error. */
  abort(reason: unknown): void
  /** Returns the first value of a request header, by its lower-case name. */
  header(name: string): string | undefined
  /** The names in the client's certificate, such as `DNS:app.internal`. Empty unless the certificate was verified. */
  readonly certificateNames: readonly string[]
  /** See Incoming. */
  readonly prefersCertificate: boolean
  /** The stream that carries the call, if it is a call of a pipeline. */
  readonly carrier: Call | undefined
  readonly connection: CallConnection | undefined
  /** See Incoming. */
  readonly turn: (() => Promise<void> | undefined) | undefined
  /** The identity of the caller; undefined until the call is authenticated. */
  identity: Identity | undefined
  /** The id of the user that the call is about, or several ids, for the audit log. Undefined until it is known. */
  subject: string | readonly string[] | undefined
  /** Further fields of the call's entry in the audit log, by name. */
  auditFields: Record<string, string | number> | undefined
  /** False if a call of a method that does not always write has written nothing. The audit log then omits the call. */
  hasWritten: boolean | undefined
  /** See Caller. Set for a call with an idempotency key. */
  transaction: Transaction | undefined
  /** The id of the call's trace, for logs. Undefined if the trace is neither recorded here nor known to the caller. */
  traceId: string | undefined
  /** The span of the call, if it is recorded; see Waiter. */
  spans: readonly Span[] | undefined
  /** The tenant of `identity`. Throws if the call is not authenticated yet. */
  readonly tenant: string
}

type Handler<M extends DescMethod> = M["methodKind"] extends "unary"
  ? (request: MessageShape<M["input"]>, call: Call) => Promise<MessageInitShape<M["output"]>>
  : M["methodKind"] extends "server_streaming"
    ? (request: MessageShape<M["input"]>, call: Call) => AsyncIterable<MessageInitShape<M["output"]>>
    : (requests: AsyncIterable<MessageShape<M["input"]>>, call: Call) => AsyncIterable<MessageInitShape<M["output"]>>

/** The handlers of a service, by method name: an object literal from a function that takes the dependencies. */
export type Implementation<S extends DescService> = { [K in keyof S["method"]]: Handler<S["method"][K]> }
