import type { DescMethod, DescService, Message, Registry } from "@bufbuild/protobuf"
import { detailTypes } from "../errors/status.js"
import { callCosts } from "../overload/call-costs.js"
import type { ConcurrencyLimit } from "../overload/concurrency-limit.js"
import type { RejectionPause } from "../overload/pause.js"
import type { Owner } from "../util/owner.js"
import { linesOf, longestTurnMs, type Turn, turnIfLarge, turnLimit, turnWhenLate } from "../util/turn-limit.js"
import { ActiveCalls } from "./active-calls.js"
import type { Call, CallOptions, Implementation } from "./call.js"
import { type Codec, codecOf, sizeOfPart } from "./codec.js"
import { streamHandler, unaryHandler } from "./handlers.js"
import { type Access, fullName, type Interceptor, type Observer, type Stream } from "./interceptor.js"
import { admission, type Read, runStream, runUnary } from "./running.js"

/** One method, as the listeners serve it. */
export interface Method {
  readonly desc: DescMethod
  /** Whether callers without a key may call the method, as with health and reflection. */
  readonly isOpen: boolean
  /** Starts a call when its header has arrived. */
  begin(options: CallOptions): Call
  /** Whether a call of this owner would be rejected at once, because too many calls of the key wait already. */
  rejects(owner: Owner): boolean
  /**
   * Handles a unary call. Key, scope, rate limit and concurrency limit are checked before the request is read, so that the request of a
   * rejected call is never read. Rejects with a Failure, whatever was thrown.
   *
   * @param read Reads the request. Called at most once.
   */
  readonly unary: (read: Read<Message>, call: Call) => Promise<Message>
  /** The same from bytes of protobuf to bytes. */
  readonly unaryBytes: (read: Read<Uint8Array>, call: Call) => Promise<Uint8Array>
  /** The same in JSON. */
  readonly unaryJson: (read: Read<Uint8Array>, call: Call) => Promise<Uint8Array>
  /** Handles a streaming call. As with `unary`, nothing is read from `requests` before the call is admitted. */
  readonly stream: Stream
  readonly codec: Codec
}

/** All methods of all services. Every listener shares them. */
export interface Router {
  readonly services: readonly { readonly desc: DescService; readonly methods: readonly Method[] }[]
  /** See ActiveCalls. */
  drain(graceMs: number): Promise<void>
  /** See RouterOptions. */
  readonly maxDeadlineMs: number
  /** Awaited before a method reads a message of a stream that has arrived; undefined if it may at once. See turnWhenLate. */
  readonly messageTurn: (owner: Owner) => Promise<void> | undefined
  /** See RouterOptions. */
  readonly registry: Registry
  /** Records a call that a listener rejected before it began. */
  readonly rejected: Observer["rejected"]
}

interface RouterOptions {
  services: readonly Registration[]
  /** Creates a service whose streams carry calls of the other services. */
  pipeline?: (inside: Inside) => Registration
  observer: Observer
  access: Access
  /** The other interceptors, outermost first. */
  interceptors: readonly Interceptor[]
  /** The longest deadline of a unary call, in milliseconds. It caps the deadline that the caller asks for. */
  maxDeadlineMs: number
  /** Returns the limit of the active calls of a unary method; undefined if there is none. */
  limitOf: (method: DescMethod) => ConcurrencyLimit | undefined
  /** Awaited before a call that the limit rejects is answered. */
  pauseAfter: RejectionPause
  /** Awaited before each large piece of work for a tenant; see turnLimit. Default: a turnLimit of the router's own. */
  turn?: Turn<string>
  /** The messages that google.protobuf.Any may contain in JSON. Default: those in the details of errors. */
  registry?: Registry
}

/** What a service needs to carry the calls of other services. */
export interface Inside {
  /** The unary methods by their full names: `authwire.v1.SessionService/GetSessionAndUser`. */
  readonly methods: ReadonlyMap<string, Method>
  /** See ActiveCalls. */
  readonly draining: AbortSignal
  /** See Router. */
  readonly messageTurn: Router["messageTurn"]
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
  const { observer, access, maxDeadlineMs, limitOf, pauseAfter, turn = turnsAlone(), registry = detailTypes } = options
  const interceptors = [access, ...options.interceptors]
  const ofTenant: Turn<Owner> = ({ tenant }, signal) => turn(tenant, signal)
  const ofKeys = (ofItsTenant: Turn<Owner>) => linesOf(({ tenant, keyId }) => keyId ?? tenant, ofItsTenant)
  const answerTurn = ofKeys(ofTenant)
  // In lines of their own, so that an answer waits for one message of its tenant only, however many there are.
  const turnOfMessages = ofKeys(linesOf(({ tenant }) => tenant, ofTenant))
  const messageTurn = turnWhenLate(turnOfMessages, longestTurnMs)
  const requestTurn = turnIfLarge(turnOfMessages)
  const active = new ActiveCalls(maxDeadlineMs, access.recheck)

  const serve = ({ desc, implementation }: Registration, isPipeline: boolean) => ({
    desc,
    methods: desc.methods.map((method): Method => {
      const handler = implementation[method.localName]
      if (typeof handler !== "function") throw new Error(`${desc.typeName} has no ${method.localName}`)
      const checks = interceptors.flatMap((interceptor) => interceptor.check?.(method) ?? [])
      let unary = unaryHandler(method, handler as never, checks)
      let stream = streamHandler(method, handler as never, checks)
      for (const interceptor of interceptors.toReversed()) {
        unary = interceptor.unary?.(method, unary) ?? unary
        stream = interceptor.stream?.(method, stream) ?? stream
      }
      const admissions = interceptors.flatMap((interceptor) => interceptor.admit?.(method) ?? [])
      const limit = method.methodKind === "unary" ? limitOf(method) : undefined
      const codec = codecOf(method, answerTurn, registry)
      const parts = {
        admit: admission(admissions),
        unary,
        limit,
        costs: callCosts(codec.hasItems ? bytesOfPage : 0),
        turn: answerTurn,
        requestTurn,
        clock: observer.clock,
        ended: observer.recorderOf(method),
        pauseAfter,
      }
      return {
        desc: method,
        isOpen: access.admit?.(method) === undefined,
        rejects: limit === undefined ? () => false : limit.rejects,
        begin: (one) => active.begin(method, one, isPipeline),
        unary: runUnary<Message, Message>(parts, ofMessages),
        unaryBytes: runUnary(parts, { ...ofBytes, decode: codec.decode, encode: codec.encodeInTurns }),
        unaryJson: runUnary(parts, { ...ofBytes, decode: codec.decodeJson, encode: codec.encodeJsonInTurns }),
        stream: runStream(method, parts, stream),
        codec,
      }
    }),
  })

  const services = options.services.map((registration) => serve(registration, false))
  if (options.pipeline !== undefined) {
    const unary = services.flatMap(({ methods }) => methods).filter(({ desc }) => desc.methodKind === "unary")
    const methods = new Map(unary.map((method) => [fullName(method.desc), method]))
    const { draining } = active
    services.push(serve(options.pipeline({ methods, draining, messageTurn }), true))
  }
  return {
    services,
    maxDeadlineMs,
    messageTurn,
    registry,
    rejected: observer.rejected,
    drain: (graceMs) => active.drain(graceMs),
  }
}

/** Turns in which only this router works. */
function turnsAlone(): Turn<string> {
  const limit = turnLimit(longestTurnMs)
  return (_, signal) => limit(signal)
}

/** About the size of the largest page: see maxPageBytes. */
const bytesOfPage = 512 * 1024

function lengthOf(bytes: Uint8Array): number {
  return bytes.length
}

function unchanged(message: Message): Message {
  return message
}

/** Calls whose messages a listener decodes and encodes. */
const ofMessages = { decode: unchanged, bytesIn: () => 0, encode: unchanged, bytesOf: sizeOfPart }

/** Calls whose messages the method decodes and encodes. */
const ofBytes = { bytesIn: lengthOf, bytesOf: lengthOf }
