import type { DescMethod, Message } from "@bufbuild/protobuf"
import type { Call } from "./call.js"

/** A unary method as the dispatch sees it. */
export type Unary = (request: Message, call: Call) => Promise<Message>

/** A streaming method: messages in, messages out. */
export type Stream = (requests: AsyncIterable<Message>, call: Call) => AsyncIterable<Message>

/**
 * Wraps every method, once, when the dispatch is made. What it returns runs for each call, so work that depends on the
 * method alone belongs outside of it.
 */
export interface Interceptor {
  unary(method: DescMethod, next: Unary): Unary
  stream(method: DescMethod, next: Stream): Stream
}

/** Sees every call, whole, in whatever form its request and answer are. */
export interface Observer {
  unary<I, O>(method: DescMethod, next: (request: I, call: Call) => Promise<O>): (request: I, call: Call) => Promise<O>
  stream(method: DescMethod, next: Stream): Stream
  /** A call that a door had to refuse before it could begin. */
  refused(method: DescMethod, door: string, requestId: string, code: number): void
}
