import type { DescMethod, DescService, MessageInitShape, MessageShape } from "@bufbuild/protobuf"
import type { Span } from "@opentelemetry/api"
import type { Budgets } from "../overload/budget.js"
import type { Caller } from "../store/store.js"
import type { Identity } from "./identity.js"

/** The connection that a call came over, and what it may hold. */
export interface CallConnection extends Budgets {
  /** Counts a request that made no call, or none that may be made. */
  turnAway(): void
}

/** One call of one method, the same through every listener. */
export interface Call extends Caller {
  readonly method: DescMethod
  /** Through which listener it came: `grpc` or `http`. */
  readonly transport: string
  /** Names the call in the log and in errors: the caller's `x-request-id` if that is well formed, else a UUID. */
  readonly requestId: string
  /** When the caller stops waiting, in milliseconds since 1970; undefined if it never does. */
  readonly deadline: number | undefined
  /** Aborts when the caller cancels, the deadline passes or the service gives up waiting at shutdown. */
  readonly signal: AbortSignal
  /** Ends the call, with what the caller is told. */
  abort(reason: unknown): void
  /** The first value of a request header, by its lower-case name. */
  header(name: string): string | undefined
  /** What the client's certificate names, if it was verified: `DNS:app.internal`. */
  readonly certificateNames: readonly string[]
  /** The stream that carries the call, if one does. */
  readonly carrier: Call | undefined
  readonly connection: CallConnection | undefined
  /** See Incoming. */
  readonly turn: (() => Promise<void> | undefined) | undefined
  /** Who makes the call, once it was let in. */
  identity: Identity | undefined
  /** The id of the user that it is about, or those of several, for the audit log, once that is known. */
  subject: string | readonly string[] | undefined
  /** What else the audit log says of it, by name. */
  told: Record<string, string | number> | undefined
  /** False for a call that has written nothing, of a method that does not always write: the audit log leaves it out. */
  wrote: boolean | undefined
  /** See Waiter; given when the call is to be answered once. */
  unit: object | undefined
  /** The id of the trace that the call belongs to, for logs; undefined where nobody could find it by that. */
  traceId: string | undefined
  /** The span of the call, if it is recorded; see Waiter. */
  spans: readonly Span[] | undefined
  /** The tenant of `identity`. Throws before the call was let in. */
  readonly tenant: string
}

type Handler<M extends DescMethod> = M["methodKind"] extends "unary"
  ? (request: MessageShape<M["input"]>, call: Call) => Promise<MessageInitShape<M["output"]>>
  : M["methodKind"] extends "server_streaming"
    ? (request: MessageShape<M["input"]>, call: Call) => AsyncIterable<MessageInitShape<M["output"]>>
    : (requests: AsyncIterable<MessageShape<M["input"]>>, call: Call) => AsyncIterable<MessageInitShape<M["output"]>>

/** What a service does, method by method: an object literal made by a function that takes its dependencies. */
export type Implementation<S extends DescService> = { [K in keyof S["method"]]: Handler<S["method"][K]> }
