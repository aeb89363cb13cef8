import { randomUUID } from "node:crypto"
import {
  create,
  type DescMessage,
  type DescMethod,
  type DescService,
  fromBinary,
  type Message,
  toBinary,
} from "@bufbuild/protobuf"
import { Failure } from "../errors.js"
import type { Call, Implementation } from "./call.js"
import type { Interceptor, Observer, Stream, Unary } from "./interceptor.js"

/** What a door knows of a call before it reads the request. */
export interface Incoming {
  door: string
  /** How long the caller waits, in milliseconds; undefined if it does not say. */
  timeoutMs: number | undefined
  header(name: string): string | undefined
}

/** A call that is under way. */
export interface Running {
  readonly call: Call
  /** The caller went away. */
  cancel(): void
  /** The call is over; must be called exactly once. */
  end(): void
}

/** One method, as a door offers it. */
export interface Method {
  readonly desc: DescMethod
  /** Starts a call. Throws SHUTTING_DOWN while the service drains. */
  begin(incoming: Incoming): Running
  readonly unary: Unary
  /** The same from bytes to bytes. */
  readonly unaryBytes: (request: Uint8Array, call: Call) => Promise<Uint8Array>
  readonly stream: Stream
}

/** Every method of every service, the same behind every door. */
export interface Dispatch {
  readonly services: readonly { readonly desc: DescService; readonly methods: readonly Method[] }[]
  /**
   * Stops taking calls: streams end at once, unary calls get `graceMs` to finish and then fail with SHUTTING_DOWN.
   * Resolves when no call is left.
   */
  drain(graceMs: number): Promise<void>
  /** See DispatchOptions. */
  readonly maxDeadlineMs: number
  /** Records a call that a door had to refuse before it could begin. */
  readonly refused: Observer["refused"]
}

export interface DispatchOptions {
  services: readonly Registration[]
  /** Sees every call from its beginning to its end, decoding and encoding included. */
  observer: Observer
  /** Outermost first. */
  interceptors: readonly Interceptor[]
  /** The longest that a unary call may take, in milliseconds, whatever its caller asks for. */
  maxDeadlineMs: number
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

/** Makes the one dispatch that all doors share. */
export function createDispatch(options: DispatchOptions): Dispatch {
  const { observer, interceptors, maxDeadlineMs } = options
  const running = new Set<{ unary: boolean; abort(failure: Failure): void }>()
  let draining = false
  let drained: (() => void) | undefined

  const begin = (desc: DescMethod, incoming: Incoming): Running => {
    const abort = new AbortController()
    const unary = desc.methodKind === "unary"
    const timeoutMs = unary ? Math.min(incoming.timeoutMs ?? maxDeadlineMs, maxDeadlineMs) : incoming.timeoutMs
    const timer =
      timeoutMs === undefined
        ? undefined
        : setTimeout(() => abort.abort(new Failure("DEADLINE_EXCEEDED")), Math.min(Math.max(timeoutMs, 0), 0x7fffffff))
    const entry = { unary, abort: (failure: Failure) => abort.abort(failure) }
    const deadline = timeoutMs === undefined ? undefined : Date.now() + timeoutMs
    running.add(entry)
    if (draining) abort.abort(new Failure("SHUTTING_DOWN"))
    return {
      call: {
        method: desc,
        door: incoming.door,
        requestId: requestIdOf(incoming.header("x-request-id")),
        deadline,
        signal: abort.signal,
        header: incoming.header,
      },
      cancel: () => {
        // Transports also cancel what has passed its deadline.
        const expired = deadline !== undefined && Date.now() >= deadline
        abort.abort(new Failure(expired ? "DEADLINE_EXCEEDED" : "CANCELLED"))
      },
      end: () => {
        clearTimeout(timer)
        running.delete(entry)
        if (running.size === 0) drained?.()
      },
    }
  }

  const services = options.services.map(({ desc, implementation }) => ({
    desc,
    methods: desc.methods.map((method): Method => {
      const handler = implementation[method.localName]
      if (typeof handler !== "function") throw new Error(`${desc.typeName} has no ${method.localName}`)
      let unary = unaryHandler(method, handler as Unary)
      let stream = streamHandler(method, handler as Stream)
      for (const interceptor of interceptors.toReversed()) {
        unary = interceptor.unary(method, unary)
        stream = interceptor.stream(method, stream)
      }
      return {
        desc: method,
        begin: (incoming) => begin(method, incoming),
        unary: observer.unary(method, unary),
        unaryBytes: observer.unary(method, async (bytes: Uint8Array, call) =>
          toBinary(method.output, await unary(decode(method.input, bytes), call)),
        ),
        stream: observer.stream(method, stream),
      }
    }),
  }))

  return {
    services,
    maxDeadlineMs,
    refused: observer.refused,
    async drain(graceMs) {
      draining = true
      for (const entry of running) if (!entry.unary) entry.abort(new Failure("SHUTTING_DOWN"))
      if (running.size === 0) return
      const finished = new Promise<void>((resolve) => {
        drained = resolve
      })
      const timer = setTimeout(() => {
        for (const entry of running) entry.abort(new Failure("SHUTTING_DOWN"))
      }, graceMs)
      await finished
      clearTimeout(timer)
    },
  }
}

// A caller is answered when its deadline passes, even if the handler cannot stop at once: the handler's outcome is then
// nobody's, and its transaction ends by itself.
function unaryHandler(method: DescMethod, handler: Unary): Unary {
  return (request, call) =>
    new Promise((resolve, reject) => {
      const { signal } = call
      const onAbort = () => reject(signal.reason)
      if (signal.aborted) {
        onAbort()
        return
      }
      signal.addEventListener("abort", onAbort, { once: true })
      handler(request, call)
        .then((answer) => resolve(create(method.output, answer)), reject)
        .finally(() => signal.removeEventListener("abort", onAbort))
    })
}

function streamHandler(method: DescMethod, handler: (request: never, call: Call) => AsyncIterable<Message>): Stream {
  return async function* (requests, call) {
    call.signal.throwIfAborted()
    const argument =
      method.methodKind === "server_streaming" ? await first(requests) : untilAborted(requests, call.signal)
    for await (const answer of handler(argument as never, call)) yield create(method.output, answer)
    // A stream that ends because it was aborted ends with the reason.
    call.signal.throwIfAborted()
  }
}

// A handler that waits for the next request must not outlive the call.
async function* untilAborted(requests: AsyncIterable<Message>, signal: AbortSignal): AsyncIterable<Message> {
  const reader = requests[Symbol.asyncIterator]()
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true })
  })
  aborted.catch(() => {})
  for (;;) {
    const next = await Promise.race([reader.next(), aborted])
    if (next.done === true) return
    yield next.value
  }
}

async function first(requests: AsyncIterable<Message>): Promise<Message> {
  for await (const request of requests) return request
  throw new Failure("INVALID_FIELD", { violations: [{ field: "request", description: "is missing" }] })
}

/** Reads a request. Throws INVALID_FIELD when the bytes are no such message. */
export function decode(schema: DescMessage, bytes: Uint8Array): Message {
  try {
    return fromBinary(schema, bytes)
  } catch (cause) {
    const violations = [{ field: "request", description: `is not a well-formed ${schema.typeName}` }]
    throw new Failure("INVALID_FIELD", { cause, violations })
  }
}

/** The id of a request: the caller's own if it is well-formed, else a UUID. */
export function requestIdOf(given: string | undefined): string {
  return given !== undefined && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID()
}
