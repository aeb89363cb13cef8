import type { DescMethod, Message } from "@bufbuild/protobuf"
import type { Failure } from "../errors/failure.js"
import type { Transaction } from "../store/store.js"
import type { Call } from "./call.js"

/** Returns the full name of a method, such as `authwire.v1.UserService/GetUser`. */
export const fullName = ({ parent, name }: DescMethod): string => `${parent.typeName}/${name}`

/**
 * A unary method as the router sees it.
 *
 * @param transaction The transaction that its writes belong to. Default: none, each write is committed by itself.
 */
export type Unary = (request: Message, call: Call, transaction?: Transaction) => Promise<Message>

/** A streaming method: messages in, messages out. */
export type Stream = (requests: AsyncIterable<Message>, call: Call) => AsyncIterable<Message>

/** Wraps every method once, when the router is created. What it returns runs for each call. */
export interface Interceptor {
  /**
   * Returns the function that admits or rejects a method's calls before their requests are read; undefined if the
   * method admits every call. Admissions run before everything else of all interceptors.
   */
  admit?(method: DescMethod): Admission | undefined
  /** Returns the check of each request; undefined if there is none. Runs inside all `unary` and `stream` functions. */
  check?(method: DescMethod): Check | undefined
  unary?(method: DescMethod, next: Unary): Unary
  /** The responses are as the handler has yielded them. They become messages outside of all interceptors. */
  stream?(method: DescMethod, next: Stream): Stream
}

/** Authenticates and authorizes calls. */
export interface Access extends Interceptor {
  /** Checks an admitted call again, and aborts it if it would no longer be admitted. Runs while the call lasts. */
  recheck?(call: Call): void
}

/** Admits a call or throws. It decides synchronously and returns undefined, unless it needs a lookup. */
export type Admission = (call: Call) => Promise<void> | undefined

/** Throws if a request violates a rule. */
export type Check = (request: Message) => void

/**
 * Records a call that has ended, with its failure if it failed. The times are those of the clock for durations. A unary call has a
 * request if its handler was called, and an answer if it succeeded.
 */
export type CallEnded = (
  call: Call,
  failure: Failure | undefined,
  begun: number,
  end: number,
  request?: Message,
  answer?: Message,
) => void

/** Observes every call. */
export interface Observer {
  /** A clock for durations, in milliseconds. */
  clock: () => number
  /** Returns the function that records a method's calls when they have ended. Runs once per method. */
  recorderOf(method: DescMethod): CallEnded
  /** Records a call that a listener rejected before it began. */
  rejected(method: DescMethod, transport: string, requestId: string, code: number): void
}
