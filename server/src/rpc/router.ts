import { setImmediate as nextTurn } from "node:timers/promises"
import { create, type DescMethod, type DescService, fromBinary, type Message, toBinary } from "@bufbuild/protobuf"
import { Failure } from "../errors/failure.js"
import type { ConcurrencyLimit } from "../overload/concurrency-limit.js"
import { type RejectionPause, rejectionMs } from "../overload/pause.js"
import { orAborted, waitsUntil } from "../util/abort.js"
import { type ActiveCall, activeCalls, type Incoming } from "./active-calls.js"
import type { Call, Implementation } from "./call.js"
import type { Check, Interceptor, Observer, Stream, Unary } from "./interceptor.js"

/** Unknown fields are dropped, because the schema has no limit for them and nothing reads them. */
const withoutUnknown = { readUnknownFields: false }

/** One method, as the listeners serve it. */
export interface Method {
  readonly desc: DescMethod
  /** Whether callers without a key may call the method, as with health and reflection. */
  readonly isOpen: boolean
  /** Starts a call when its header has arrived. */
  begin(incoming: Incoming): ActiveCall
  /** Whether a call of this key would be rejected at once, because too many calls of the key wait already. */
  rejects(key: string): boolean
  /**
   * Handles a unary call. Key, scope, rate limit and concurrency limit are checked before the request is read, so that the request of a
   * rejected call is never read.
   *
   * @param read Reads the request. Called at most once.
   */
  readonly unary: (read: Read<Message>, call: Call) => Promise<Message>
  /** The same from bytes to bytes. */
  readonly unaryBytes: (read: Read<Uint8Array>, call: Call) => Promise<Uint8Array>
  /** Handles a streaming call. As with `unary`, nothing is read from `requests` before the call is admitted. */
  readonly stream: Stream
  readonly codec: Codec
}

/** Reads the request of a call. */
export type Read<T> = () => T | Promise<T>

/** Decodes and encodes the messages of a method. */
export interface Codec {
  /** Throws INVALID_FIELD if the bytes are not a well-formed request. */
  decode(bytes: Uint8Array): Message
  encode(answer: Message): Uint8Array
}

/** All methods of all services. Every listener shares them. */
export interface Router {
  readonly services: readonly { readonly desc: DescService; readonly methods: readonly Method[] }[]
  /** See ActiveCalls. */
  drain(graceMs: number): Promise<void>
  /** See RouterOptions. */
  readonly maxDeadlineMs: number
  /** Records a call that a listener rejected before it began. */
  readonly rejected: Observer["rejected"]
}

export interface RouterOptions {
  services: readonly Registration[]
  /** Creates a service whose streams carry calls of the other services. */
  carrier?: (inside: Inside) => Registration
  observer: Observer
  /** Authenticates and authorizes calls. */
  access: Interceptor
  /** The other interceptors, outermost first. */
  interceptors: readonly Interceptor[]
  /** The longest deadline of a unary call, in milliseconds. It caps the deadline that the caller asks for. */
  maxDeadlineMs: number
  /** Returns the limit of the active calls of a unary method; undefined if there is none. */
  limitOf: (method: DescMethod) => ConcurrencyLimit | undefined
  /** Awaited before a call that the limit rejects is answered. */
  pauseAfter: RejectionPause
}

/** What a service needs to carry the calls of other services. */
export interface Inside {
  /** The unary methods by their full names: `authwire.v1.SessionService/GetSessionAndUser`. */
  readonly methods: ReadonlyMap<string, Method>
  /** See ActiveCalls. */
  readonly draining: AbortSignal
}

/** A service and its implementation. */
export interface Registration {
  desc: DescService
  implementation: Readonly<Record<string, unknown>>
}

/** Pairs a service with its implementation. The compiler checks that every method is there. */
export function register<S extends DescService>(desc: S, implementation: Implementation<S>): Registration {
  return { desc, implementation }
}

/** Creates the router that all listeners share. */
export function createRouter(options: RouterOptions): Router {
  const { observer, access, maxDeadlineMs, limitOf, pauseAfter } = options
  const interceptors = [access, ...options.interceptors]
  const active = activeCalls(maxDeadlineMs)

  const serve = ({ desc, implementation }: Registration, carries: boolean) => ({
    desc,
    methods: desc.methods.map((method): Method => {
      const handler = implementation[method.localName]
      if (typeof handler !== "function") throw new Error(`${desc.typeName} has no ${method.localName}`)
      const checks = interceptors.flatMap((interceptor) => interceptor.check?.(method) ?? [])
      let unary = unaryHandler(method, handler as Unary, checks)
      let stream = streamHandler(method, handler as Stream, checks)
      for (const interceptor of interceptors.toReversed()) {
        unary = interceptor.unary?.(method, unary) ?? unary
        stream = interceptor.stream?.(method, stream) ?? stream
      }
      const admissions = interceptors.flatMap((interceptor) => interceptor.admit?.(method) ?? [])
      const limit = method.methodKind === "unary" ? limitOf(method) : undefined
      const away = limit && (<T>(call: Call, waited: Promise<T>) => limit.away(keyOf(call), waited))
      const kind = { carries, away }
      const observed = observer.of(method)
      /**
       * Runs the admissions. Synchronous where none of them has to wait, so that the calls of one message of a pipeline are
       * admitted one after the other.
       */
      const admit = (call: Call, first = 0): Promise<void> | undefined => {
        for (let at = first; at < admissions.length; at++) {
          const pending = admissions[at]?.(call)
          if (pending !== undefined) return pending.then(() => admit(call, at + 1))
        }
        // Not before: a call whose deadline has passed needs a valid key and counts against the rate limit too.
        call.signal.throwIfAborted()
        return call.turn?.()
      }
      /**
       * Handles a unary call. A call whose request has not arrived yet returns its slot in the concurrency limit, and takes one
       * again with the request.
       */
      const handling =
        <I, O>(decode: (input: I) => Message, encode: (answer: Message) => O) =>
        async (read: Read<I>, call: Call): Promise<O> => {
          const begun = observed.begun()
          /** The key under which the call counts in the concurrency limit now. */
          let enteredAs: string | undefined
          try {
            const admitting = admit(call)
            if (admitting !== undefined) await admitting
            // There is no memory left for the request.
            if (call.connection?.requests.isTight === true) throw requestBudgetUsed()
            // The client does not read its answers, so this one would only add to them.
            if (call.connection?.answers.isTight === true) throw answerBudgetUsed()
            const key = keyOf(call)
            try {
              const entering = limit?.enter(key, call.signal)
              if (entering !== undefined) await entering
            } catch (error) {
              // A pipeline pauses once for all calls of a message.
              const pauses = call.carrier === undefined && error instanceof Failure && error.reason === "OVERLOADED"
              if (pauses) await pauseAfter(rejectionMs.unary)
              throw error
            }
            enteredAs = key
            let input: I | Promise<I> | undefined = read()
            if (input instanceof Promise) {
              limit?.leave(key)
              enteredAs = undefined
              input = await orAborted<I>(input, call.signal)
              const again = limit?.enter(key, call.signal)
              if (again !== undefined) await again
              enteredAs = key
            }
            const request = decode(input as I)
            // The bytes are not kept for the duration of the call.
            input = undefined
            // A call ends at its deadline even if its handler cannot stop at once. The handler's result is then discarded, and
            // its transaction ends by itself.
            const answer = encode(await orAborted(unary(request, call), call.signal))
            observed.answered(call, begun)
            return answer
          } catch (error) {
            throw observed.failed(call, begun, error)
          } finally {
            if (enteredAs !== undefined) limit?.leave(enteredAs)
          }
        }
      const codec = codecOf(method)
      return {
        desc: method,
        isOpen: access.admit?.(method) === undefined,
        rejects: limit === undefined ? () => false : limit.rejects,
        begin: (incoming) => active.begin(method, incoming, kind),
        unary: handling(unchanged, unchanged),
        unaryBytes: handling(codec.decode, codec.encode),
        async *stream(requests, call) {
          const begun = observed.begun()
          let hasFailed = false
          try {
            await admit(call)
            call.signal.throwIfAborted()
            for await (const answer of stream(requests, call)) yield create(method.output, answer)
            // An aborted stream ends with the reason.
            call.signal.throwIfAborted()
          } catch (error) {
            hasFailed = true
            throw observed.failed(call, begun, error)
          } finally {
            // This also runs when the reader of the answers ends early.
            if (!hasFailed) observed.answered(call, begun)
          }
        },
        codec,
      }
    }),
  })

  const services = options.services.map((registration) => serve(registration, false))
  if (options.carrier !== undefined) {
    const unary = services.flatMap(({ methods }) => methods).filter(({ desc }) => desc.methodKind === "unary")
    const methods = new Map(unary.map((method) => [`${method.desc.parent.typeName}/${method.desc.name}`, method]))
    const { draining } = active
    services.push(serve(options.carrier({ methods, draining }), true))
  }
  return { services, maxDeadlineMs, rejected: observer.rejected, drain: active.drain }
}

/** Returns the key by which the concurrency limit is shared. All callers without a key share one. */
export function keyOf({ identity }: Call): string {
  return identity?.keyId ?? ""
}

/** Creates the rejection of a call whose request has no memory left. The client may retry. */
function requestBudgetUsed(): Failure {
  const message = "the incomplete requests of the connection or of the API key have reached their memory limit"
  return new Failure("OVERLOADED", { retryAfterMs: 200, message })
}

/** Creates the rejection of a call whose client does not read its answers. A client that is only slow may retry. */
function answerBudgetUsed(): Failure {
  return new Failure("ANSWERS_NOT_TAKEN", { retryAfterMs: 200 })
}

function unchanged(message: Message): Message {
  return message
}

function unaryHandler(method: DescMethod, handler: Unary, checks: readonly Check[]): Unary {
  return async (request, call) => {
    for (const check of checks) check(request)
    call.signal.throwIfAborted()
    return create(method.output, await handler(request, call))
  }
}

function streamHandler(
  { methodKind }: DescMethod,
  handler: (request: never, call: Call) => AsyncIterable<Message>,
  checks: readonly Check[],
): Stream {
  if (methodKind !== "server_streaming")
    return (requests, call) => handler(untilAborted(requests, call.signal, checks) as never, call)
  return async function* (requests, call) {
    yield* handler((await first(requests, checks)) as never, call)
  }
}

/**
 * The number of messages of one stream after which the event loop gets a turn. The smallest messages have five bytes, so thousands of
 * them can arrive at once, and other clients would wait until all of them are handled.
 */
const messagesPerTurn = 16

/** Ends a request stream when the call is aborted, because a handler that waits for the next request must not outlive its call. */
async function* untilAborted(
  requests: AsyncIterable<Message>,
  signal: AbortSignal,
  checks: readonly Check[],
): AsyncIterable<Message> {
  const reader = requests[Symbol.asyncIterator]()
  const waits = waitsUntil(signal)
  try {
    for (let count = 1; ; count++) {
      if (count % messagesPerTurn === 0) await nextTurn()
      const next = await waits.for(reader.next())
      if (next.done === true) return
      for (const check of checks) check(next.value)
      yield next.value
    }
  } finally {
    waits.end()
  }
}

async function first(requests: AsyncIterable<Message>, checks: readonly Check[]): Promise<Message> {
  for await (const request of requests) {
    for (const check of checks) check(request)
    return request
  }
  throw new Failure("INVALID_FIELD", { violations: [{ field: "request", description: "is missing" }] })
}

function codecOf({ input, output }: DescMethod): Codec {
  return {
    decode(bytes) {
      try {
        return fromBinary(input, bytes, withoutUnknown)
      } catch (cause) {
        const violations = [{ field: "request", description: `is not a well-formed ${input.typeName}` }]
        throw new Failure("INVALID_FIELD", { cause, violations })
      }
    },
    encode: (answer) => toBinary(output, answer),
  }
}
