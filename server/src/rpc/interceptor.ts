import type { DescMethod, Message } from "@bufbuild/protobuf"
import type { Call } from "./call.js"

/** A unary method as the router sees it. */
export type Unary = (request: Message, call: Call) => Promise<Message>

/** A streaming method: messages in, messages out. */
export type Stream = (requests: AsyncIterable<Message>, call: Call) => AsyncIterable<Message>

/**
 * Wraps every method, once, when the router is made. What it returns runs for each call, so work that depends on the
 * method alone belongs outside of it.
 */
export interface Interceptor {
  /**
   * Looks at a call before its request is read, and throws if it is not let in. Undefined for a method that lets
   * everybody in. Runs before everything else of all interceptors.
   */
  admit?(method: DescMethod): Admission | undefined
  /** Looks at each request, inside of what `unary` and `stream` of all interceptors do. Undefined where it has no rule. */
  check?(method: DescMethod): Check | undefined
  unary?(method: DescMethod, next: Unary): Unary
  /** Answers are here as the handler has made them: they become messages outside of all interceptors. */
  stream?(method: DescMethod, next: Stream): Stream
}

/** Lets a call in or throws: at once, so that nobody waits, unless it has to ask somebody. */
export type Admission = (call: Call) => Promise<void> | undefined

/** Throws if a request breaks a rule. */
export type Check = (request: Message) => void

/** Hears of every call. */
export interface Observer {
  /** What hears of the calls of a method: made once, so work that depends on the method alone belongs there. */
  of(method: DescMethod): CallObserver
  /** A call that a listener had to reject before it could begin. */
  rejected(method: DescMethod, transport: string, requestId: string, code: number): void
}

/** Hears of the calls of one method, from their beginning to their end, decoding and encoding included. */
export interface CallObserver {
  /** @returns when the call began, for its end */
  begun(): number
  answered(call: Call, begun: number): void
  /** @returns what the caller is told of what was thrown */
  failed(call: Call, begun: number, thrown: unknown): unknown
}
