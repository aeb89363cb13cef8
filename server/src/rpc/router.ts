import { create, type DescMethod, type DescService, fromBinary, type Message, toBinary } from "@bufbuild/protobuf"
import type { ConcurrencyLimit } from "../overload/concurrency-limit.js"
import { type RejectionPause, rejectionMs } from "../overload/pause.js"
import { orAborted, waitsUntil } from "../util/abort.js"
import { activeCalls, type Incoming, type Running } from "./active-calls.js"
import type { Call, Implementation } from "./call.js"
import { Failure } from "./errors.js"
import type { Check, Interceptor, Observer, Stream, Unary } from "./interceptor.js"

/** Fields that the schema does not know have no bound, and nobody would read them. */
const withoutUnknown = { readUnknownFields: false }

/** One method, as a listener offers it. */
export interface Method {
  readonly desc: DescMethod
  /** Whether the method is open to callers without a key, as those of health and reflection are. */
  readonly isOpen: boolean
  /** Starts a call, on its header. */
  begin(incoming: Incoming): Running
  /** Whether a call of a key would be rejected at once, because too many of it wait already. */
  rejects(key: string): boolean
  /**
   * Makes a unary call. Key, scope, rate and concurrency limit are decided before the request is read: a call that is
   * rejected never reads it.
   *
   * @param read Reads the request. Called at most once.
   */
  readonly unary: (read: Read<Message>, call: Call) => Promise<Message>
  /** The same from bytes to bytes. */
  readonly unaryBytes: (read: Read<Uint8Array>, call: Call) => Promise<Uint8Array>
  /** Makes a streaming call. As with `unary`, nothing is asked of `requests` before the call is let in. */
  readonly stream: Stream
  readonly codec: Codec
}

/** Reads the request of a call. */
export type Read<T> = () => T | Promise<T>

/** Reads and writes the messages of a method. */
export interface Codec {
  /** Throws INVALID_FIELD when the bytes are no request. */
  decode(bytes: Uint8Array): Message
  encode(answer: Message): Uint8Array
}

/** Every method of every service, the same behind every listener. */
export interface Router {
  readonly services: readonly { readonly desc: DescService; readonly methods: readonly Method[] }[]
  /** See ActiveCalls. */
  drain(graceMs: number): Promise<void>
  /** See RouterOptions. */
  readonly maxDeadlineMs: number
  /** Records a call that a listener had to reject before it could begin. */
  readonly rejected: Observer["rejected"]
}

export interface RouterOptions {
  services: readonly Registration[]
  /** Makes a service whose streams carry calls of the other services. */
  carrier?: (inside: Inside) => Registration
  observer: Observer
  /** Lets calls in. */
  access: Interceptor
  /** What else there is to do about a call, outermost first. */
  interceptors: readonly Interceptor[]
  /** The longest that a unary call may take, in milliseconds, whatever its caller asks for. */
  maxDeadlineMs: number
  /** What bounds the calls in progress of a unary method; undefined if nothing does. */
  limitOf: (method: DescMethod) => ConcurrencyLimit | undefined
  /** Awaited before a call is told that the limit rejects it. */
  pauseAfter: RejectionPause
}

/** What a service needs to carry the calls of others. */
export interface Inside {
  /** The unary methods by their full names: `authwire.v1.SessionService/GetSessionAndUser`. */
  readonly methods: ReadonlyMap<string, Method>
  /** See ActiveCalls. */
  readonly draining: AbortSignal
}

/** A service and what it does. */
export interface Registration {
  desc: DescService
  implementation: Readonly<Record<string, unknown>>
}

/** Ties a service to its implementation, checked by the compiler. */
export function register<S extends DescService>(desc: S, implementation: Implementation<S>): Registration {
  return { desc, implementation }
}

/** Makes the one router that all listeners share. */
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
      // At once where nobody has to be waited for: so the next call of the same message finds the place taken.
      const letIn = (call: Call, first = 0): Promise<void> | undefined => {
        for (let at = first; at < admissions.length; at++) {
          // Who has no key hears of that, however little time there is.
          if (at > 0) call.signal.throwIfAborted()
          const asking = admissions[at]?.(call)
          if (asking !== undefined) return asking.then(() => letIn(call, at + 1))
        }
        call.signal.throwIfAborted()
        return call.turn?.()
      }
      /** The place of a call whose request is still to arrive is others': it is decided again when it is there. */
      const making =
        <I, O>(decode: (input: I) => Message, encode: (answer: Message) => O) =>
        async (read: Read<I>, call: Call): Promise<O> => {
          const begun = observed.begun()
          /** The key of which it has a place. */
          let place: string | undefined
          try {
            const letting = letIn(call)
            if (letting !== undefined) await letting
            // The request would have no space, and be cut.
            if (call.connection?.requests.isTight === true) throw requestsNotWhole()
            // The answer would wait behind those that are not taken, or be thrown away.
            if (call.connection?.answers.isTight === true) throw answersNotTaken()
            const key = keyOf(call)
            try {
              const waiting = limit?.enter(key, call.signal)
              if (waiting !== undefined) await waiting
            } catch (error) {
              // A pipeline pauses for all of a message.
              const pauses = call.carrier === undefined && error instanceof Failure && error.reason === "OVERLOADED"
              if (pauses) await pauseAfter(rejectionMs.unary)
              throw error
            }
            place = key
            let input: I | Promise<I> | undefined = read()
            if (input instanceof Promise) {
              limit?.leave(key)
              place = undefined
              input = await orAborted<I>(input, call.signal)
              const again = limit?.enter(key, call.signal)
              if (again !== undefined) await again
              place = key
            }
            const request = decode(input as I)
            // What it was made of is not kept for as long as the call takes.
            input = undefined
            // A caller is answered when its deadline passes, even if what makes the answer cannot stop at once: its outcome is
            // then nobody's, and its transaction ends by itself.
            const answer = encode(await orAborted(unary(request, call), call.signal))
            observed.answered(call, begun)
            return answer
          } catch (error) {
            throw observed.failed(call, begun, error)
          } finally {
            if (place !== undefined) limit?.leave(place)
          }
        }
      const codec = codecOf(method)
      return {
        desc: method,
        isOpen: access.admit?.(method) === undefined,
        rejects: limit === undefined ? () => false : limit.rejects,
        begin: (incoming) => active.begin(method, incoming, kind),
        unary: making(asIs, asIs),
        unaryBytes: making(codec.decode, codec.encode),
        async *stream(requests, call) {
          const begun = observed.begun()
          let hasFailed = false
          try {
            await letIn(call)
            call.signal.throwIfAborted()
            for await (const answer of stream(requests, call)) yield create(method.output, answer)
            // A stream that ends because it was aborted ends with the reason.
            call.signal.throwIfAborted()
          } catch (error) {
            hasFailed = true
            throw observed.failed(call, begun, error)
          } finally {
            // Also when who reads the answers ends early.
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

/** By what the concurrency limit is shared: callers without a key are one. */
export function keyOf({ identity }: Call): string {
  return identity?.keyId ?? ""
}

/** Rejects a call whose request would have to be cut. A client that sends much at the same time may come again. */
function requestsNotWhole(): Failure {
  const message = "the requests that are not whole take as much memory as the connection or the key may"
  return new Failure("OVERLOADED", { retryAfterMs: 200, message })
}

/** Rejects a call whose answer would wait too long for its client. A client that is only slow may come again. */
function answersNotTaken(): Failure {
  return new Failure("ANSWERS_NOT_TAKEN", { retryAfterMs: 200 })
}

function asIs(message: Message): Message {
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

// A handler that waits for the next request must not outlive the call.
async function* untilAborted(
  requests: AsyncIterable<Message>,
  signal: AbortSignal,
  checks: readonly Check[],
): AsyncIterable<Message> {
  const reader = requests[Symbol.asyncIterator]()
  const waits = waitsUntil(signal)
  try {
    for (;;) {
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
