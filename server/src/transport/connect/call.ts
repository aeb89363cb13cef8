import type { Message } from "@bufbuild/protobuf"
import { Code, ConnectError } from "@connectrpc/connect"
import { Failure, toFailure } from "../../errors/failure.js"
import { connectErrorOf } from "../../errors/status.js"
import type { Call, CallOptions } from "../../rpc/call.js"
import type { Method } from "../../rpc/router.js"
import { orAborted } from "../../util/abort.js"
import { itemsOf } from "../../util/items.js"
import { asUnreadable, type Outcome } from "./foreign-errors.js"

/** How Connect's handler reaches a call, which begins with its header. Its request is read once it is admitted. */
export interface HttpCall {
  readonly call: Call
  /** Resolves when the request may be read. Rejects with a Failure if the call is rejected. */
  readonly admitted: Promise<void>
  /** Fails the call because its request cannot be read. */
  fail(failure: Failure): void
  /** Undefined while the method reads its request. */
  readonly outcome: Outcome | undefined
}

/** I is the request and O the answer: a message, or one that is encoded. */
export interface HttpUnaryCall<I, O> extends HttpCall {
  /** Passes the request to the method and returns its answer. Rejects with a Failure. */
  answer(request: I): Promise<O>
}

export interface HttpStreamCall extends HttpCall {
  /** Passes the requests to the method and returns its answers, encoded. Throws Connect's error. */
  answers(requests: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>
}

export function beginUnary<I, O>(
  unary: (read: () => Promise<I>, call: Call) => Promise<O>,
  call: Call,
): HttpUnaryCall<I, O> {
  const request = Promise.withResolvers<void>()
  let given: I | undefined
  const admitted = Promise.withResolvers<void>()
  let outcome: Outcome | undefined
  const read = async () => {
    admitted.resolve()
    await request.promise
    const only = given as I
    // The bytes are not kept for the duration of the call. As the value of the promise they would be, because `fail` keeps the promise.
    given = undefined
    return only
  }
  const run = async () => {
    try {
      const message = await unary(read, call)
      outcome = "answered"
      return message
    } catch (error) {
      outcome = "failed"
      throw error
    } finally {
      call.end()
    }
  }
  const answer = run()
  answer.catch(admitted.reject)
  return {
    call,
    admitted: admitted.promise,
    fail: request.reject,
    get outcome() {
      return outcome
    },
    answer(message) {
      given = message
      request.resolve()
      return answer
    },
  }
}

/** How a stream reads requests and returns answers. */
export interface StreamCoding {
  decode(bytes: Uint8Array): Message
  encode(answer: Message, call: Call): Uint8Array | Promise<Uint8Array>
}

/**
 * @param coding.decode Decodes a request. Throws a Failure.
 * @param onRequest Awaited before each request of the stream is read. Throws if there are too many.
 */
export function beginStream(
  method: Method,
  options: CallOptions,
  { decode, encode }: StreamCoding,
  onRequest: (isFirst: boolean) => Promise<void>,
): HttpStreamCall {
  const call = method.begin(options)
  const { signal } = call
  const requests = Promise.withResolvers<AsyncIterable<Uint8Array>>()
  // They may fail before the method reads them.
  requests.promise.catch(() => {})
  const admitted = Promise.withResolvers<void>()
  async function* read(): AsyncIterable<Message> {
    admitted.resolve()
    let isFirst = true
    const messages = (await orAborted(requests.promise, signal))[Symbol.asyncIterator]()
    // A function of its own, because a generator keeps its variables while it waits: the bytes of a message would stay in memory until the
    // next one arrives, and count nowhere.
    const next = async (): Promise<Message | undefined> => {
      const { done, value: bytes } = await messages.next()
      if (done === true) return undefined
      await onRequest(isFirst)
      isFirst = false
      return decode(bytes)
    }
    try {
      for (let message = await next(); message !== undefined; message = await next()) yield message
    } finally {
      await messages.return?.()
    }
  }
  const stream = method.stream(read(), call)[Symbol.asyncIterator]()
  let isMade = false
  let isOver = false
  let outcome: Outcome | undefined
  const end = () => {
    if (!isOver) call.end()
    isOver = true
  }
  let first: Promise<IteratorResult<Message>> | undefined = stream.next()
  first.then(
    () => admitted.resolve(),
    (error: unknown) => {
      admitted.reject(error)
      end()
    },
  )
  // Connect may still find an error in the header and never start the stream.
  signal.addEventListener("abort", () => isMade || end(), { once: true })
  return {
    call,
    admitted: admitted.promise,
    fail(failure) {
      requests.reject(failure)
      // A method that answers before it reads its requests does not notice their failure.
      if (!isMade) stream.throw?.(failure).catch(() => {})
    },
    get outcome() {
      return outcome
    },
    answers(messages) {
      isMade = true
      requests.resolve(readable(messages))
      const close = async () => {
        end()
        await stream.return?.()
      }
      const next = async () => {
        const reading = first ?? stream.next()
        // Otherwise the first answer would stay in memory for as long as the stream.
        first = undefined
        try {
          const { done, value } = await reading
          if (done !== true) {
            outcome = "answered"
            return value
          }
          end()
          return undefined
        } catch (error) {
          outcome = "failed"
          await close()
          throw connectErrorOf(toFailure(error), call.requestId)
        }
      }
      const encoded = async () => {
        const answer = await next()
        if (answer === undefined) return undefined
        try {
          return await encode(answer, call)
        } catch (error) {
          await close()
          // Its message is for the log only: see withoutForeignErrors.
          throw error instanceof Failure
            ? connectErrorOf(error, call.requestId)
            : ConnectError.from(error, Code.Internal)
        }
      }
      return itemsOf<Uint8Array>(encoded, close)
    },
  }
}

function readable(messages: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  const reader = messages[Symbol.asyncIterator]()
  const next = async () => {
    try {
      return (await reader.next()).value
    } catch (error) {
      throw asUnreadable(error) ?? new Failure("CANCELLED", { cause: error })
    }
  }
  return itemsOf<Uint8Array>(next, async () => reader.return?.())
}
