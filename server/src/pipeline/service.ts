import type { PipelineAnswer, PipelineCall, PipelineRequest, PipelineService } from "@authwire/proto"
import type { Status } from "@authwire/proto/rpc/status"
import type { DescMethod } from "@bufbuild/protobuf"
import { Failure, invalidField, toFailure } from "../errors/failure.js"
import { statusOf } from "../errors/status.js"
import { overloaded } from "../overload/concurrency-limit.js"
import { type RejectionPause, rejectionMs } from "../overload/pause.js"
import type { Call, Implementation } from "../rpc/call.js"
import { idempotencyHeader } from "../rpc/interceptors/idempotency.js"
import { type Rejecter, sizeOf } from "../rpc/rejection.js"
import type { Inside, Method } from "../rpc/router.js"
import { inOwnMemory } from "../transport/limits/request-body.js"
import { type PeerTimeout, peerTimeout } from "../util/peer-timeout.js"
import { SendQueue } from "./send-queue.js"

export interface PipelineOptions extends Inside {
  /** The most active calls of one stream. */
  maxInFlight: number
  /** The size of the largest message of a call, in bytes. */
  maxMessageBytes: number
  reject: Rejecter
  /** Counts a call of an unknown method against the rate limit of the stream's key. Throws RATE_LIMITED. */
  limitUnknown: (stream: Call) => void
  pauseAfter: RejectionPause
}

const answerType = "authwire.v1.PipelineAnswer"
const responseType = "authwire.v1.PipelineResponse"

/** The time that a client has to move to another stream when the service drains, in milliseconds, if it has no active call. */
const moveMs = 1_000

/** Carries unary calls as messages of one stream. It is the third way into the router, beside the two listeners. */
export function pipelineService(options: PipelineOptions): Implementation<typeof PipelineService> {
  const { draining, maxInFlight, maxMessageBytes } = options
  return {
    async *pipeline(requests, _, call) {
      const waiting = new SendQueue<PipelineAnswer>(call.connection?.answers)
      const calls = carriedCalls(options, call, waiting)
      let moving: PeerTimeout | undefined
      /** Whether the next message asks the client to move. */
      let mustMove = false
      const onDrain = () => {
        mustMove = true
        waiting.interrupt()
        // What has arrived by then, and waits for its turn, begins before.
        moving = peerTimeout(moveMs, async () => {
          await options.messageTurn(call.owner)
          calls.finish()
        })
      }
      // This is needed when the client has half-closed the stream, because then nothing is read any more.
      call.signal.addEventListener("abort", () => waiting.fail(call.signal.reason), { once: true })
      try {
        yield { settings: { maxInFlight, maxMessageBytes } }
        if (draining.aborted) onDrain()
        else draining.addEventListener("abort", onDrain, { once: true })
        calls.read(requests)
        for (let batch = await waiting.take(); batch !== undefined; batch = await waiting.take()) {
          const message = { $typeName: responseType, answers: batch, draining: mustMove } as const
          mustMove = false
          yield message
          // The answers have been received. Whoever has passed them on keeps the message until there is the next one.
          batch.length = 0
        }
      } finally {
        moving?.clear()
        draining.removeEventListener("abort", onDrain)
        calls.cancelAll()
        waiting.over()
      }
    },
  }
}

/** The calls that one stream carries. */
function carriedCalls(options: PipelineOptions, stream: Call, answers: SendQueue<PipelineAnswer>) {
  const { methods, maxInFlight, pauseAfter, messageTurn } = options
  // The entries drop their call when they are removed (see Entry in rpc/active-calls.ts).
  const active = new Map<number, { call: Call | undefined }>()
  const budgets = stream.connection
  let finishing = false
  /** Whether a message has calls that have not begun yet. */
  let isBeginning = false
  /** Whether the stream has ended. A call that arrives later could not be answered, so it is ignored. */
  let isOver = false
  const left = Promise.withResolvers<void>()
  let justRejected = 0

  /** Answers with an error. If there is no memory even for that, the stream ends. */
  const answerError = (id: number, error: Status, bytes: number, more: boolean): void => {
    const answer = { $typeName: answerType, id, outcome: { case: "error", value: error } } as const
    if (answers.put(answer, bytes, more)) return
    isOver = true
    answers.fail(notTaken)
  }

  const reject = (frame: PipelineCall, method: DescMethod, failure: Failure): void => {
    const { status, bytes } = options.reject(failure, method, "pipeline", frame.header["x-request-id"])
    answerError(frame.id, status, bytes, true)
    justRejected++
  }

  /** Returns the reason to reject a call before it begins. Otherwise counts its request against the budget. */
  const rejectionOf = (method: Method, requestBytes: number): Failure | undefined => {
    if (active.size >= maxInFlight) return tooManyCalls
    if (method.rejects(stream.owner)) return limitReached
    if (budgets?.answers.isTight === true) return answersWaiting
    // The rate limits of keys do not apply to health, the only service whose unary methods need no key.
    const retryAfterMs = method.isOpen ? (budgets?.takeHealthRequest() ?? 0) : 0
    if (retryAfterMs > 0) return new Failure("RATE_LIMITED", { retryAfterMs, message: tooFast })
    return budgets?.requests.take(requestBytes) === false ? tooManyCalls : undefined
  }

  /** @param waitedMs How long ago the call has arrived, in milliseconds, because its deadline counts from then. */
  const begin = (frame: PipelineCall, waitedMs: number): void => {
    if (isOver) return
    const { id, header } = frame
    if (active.has(id)) throw invalidField("calls.id", "must not be that of an active call")
    const method = methods.get(frame.method)
    if (method === undefined) {
      reject(frame, stream.method, unknown())
      return
    }
    const requestBytes = sizeOfRequest(frame) + activeBytes
    const rejection = rejectionOf(method, requestBytes)
    if (rejection !== undefined) {
      reject(frame, method.desc, rejection)
      return
    }
    const call = method.begin({
      transport: "pipeline",
      timeoutMs: frame.timeoutMs === undefined ? undefined : frame.timeoutMs - waitedMs,
      header: (name) => {
        // The API key is that of the stream. Headers that name a call are the call's own.
        if (name === "authorization") return stream.header(name)
        return header[name] ?? (ofOneCall.has(name) ? undefined : stream.header(name))
      },
      pipeline: stream,
    })
    const entry: { call: Call | undefined } = { call }
    active.set(id, entry)
    const end = (answer: (more: boolean) => void): void => {
      call.end()
      budgets?.requests.give(requestBytes)
      // The client has cancelled the call, and its id may belong to another call by now.
      if (active.get(id) !== entry) return
      active.delete(id)
      entry.call = undefined
      answer(active.size > 0)
      closeIfDone()
    }
    const fail = (thrown: unknown, more: boolean): void => {
      const error = statusOf(toFailure(thrown), call.requestId)
      answerError(id, error, sizeOf(error), more)
    }
    // The frame does not keep a request that was read.
    const read = () => {
      const { message } = frame
      if (message === nothing) throw new Error("a request is read twice")
      frame.message = nothing
      return message
    }
    const answered = method.unaryBytes(read, call)
    // A request that has to wait is copied, because otherwise it would keep the whole message of the stream in memory.
    frame.message = inOwnMemory(frame.message)
    answered.then(
      (message) =>
        end((more) => {
          const answer = { $typeName: answerType, id, outcome: { case: "message", value: message } } as const
          if (!answers.put(answer, message.length, more)) fail(notTaken, more)
        }),
      (error) => end((more) => fail(error, more)),
    )
  }

  /** Begins the calls of a message. Those that wait for a turn of the event loop keep the whole message in memory, which counts. */
  const beginAll = async (frames: readonly PipelineCall[]): Promise<void> => {
    let bytes: number | undefined
    /** How many calls may begin before a turn is asked for again. */
    let free = 0
    const arrived = performance.now()
    let waitedMs = 0
    isBeginning = true
    try {
      for (const frame of frames) {
        if (isOver) return
        const waiting = free-- > 0 ? undefined : messageTurn(stream.owner)
        if (waiting !== undefined) {
          const size = bytes ?? frames.reduce((sum, one) => sum + sizeOfRequest(one), 0)
          if (bytes === undefined && budgets?.requests.take(size) === false) {
            // There is no memory for calls that wait. These do not, and most of them are rejected.
            free = frames.length
          } else {
            bytes = size
            await waiting
            waitedMs = performance.now() - arrived
            free = callsPerTurn - 1
          }
        }
        begin(frame, waitedMs)
      }
    } finally {
      budgets?.requests.give(bytes ?? 0)
      isBeginning = false
      closeIfDone()
    }
  }

  const unknown = (): Failure => {
    try {
      options.limitUnknown(stream)
      return unknownMethod
    } catch (error) {
      return toFailure(error)
    }
  }

  const cancel = (id: number): void => {
    const entry = active.get(id)
    if (entry === undefined) return
    active.delete(id)
    entry.call?.cancel()
    entry.call = undefined
    closeIfDone()
  }

  const closeIfDone = (): void => {
    if (!finishing || active.size > 0 || isBeginning) return
    isOver = true
    answers.close()
  }

  const finish = (): void => {
    finishing = true
    closeIfDone()
  }

  return {
    /** Handles requests until the client half-closes the stream. The active calls are still answered. */
    read(requests: AsyncIterable<PipelineRequest>): void {
      const reading = async () => {
        for await (const request of requests) {
          for (const id of request.cancelledIds) cancel(id)
          await beginAll(request.calls)
          // What reads the stream keeps the message until the next one arrives, when its bytes no longer count.
          request.calls.length = 0
          request.cancelledIds.length = 0
          // Nothing more can begin, but the stream stays open until the client has read what is on its way.
          if (isOver) await left.promise
          if (justRejected > 0) {
            await pauseAfter(justRejected * rejectionMs.carried)
            justRejected = 0
          }
          // No more requests are read from a client that does not read its answers.
          const space = answers.space()
          if (space !== undefined) await space
        }
      }
      reading().then(finish, (error) => answers.fail(error))
    },
    /** Ends the stream when no call is active any more. */
    finish,
    /** Cancels all calls because the client has gone. */
    cancelAll(): void {
      isOver = true
      left.resolve()
      for (const { call } of active.values()) call?.cancel()
      active.clear()
    },
  }
}

/** The overhead of one call, and of a field in its header, in bytes: about the memory of their objects. */
const callBytes = 256
const fieldBytes = 64
/** The overhead of an active call, in bytes. No other limit holds for those with `await_caches`, which wait for seconds. */
const activeBytes = 1_024

/** The approximate memory that a call keeps until it ends, in bytes. */
function sizeOfRequest({ message, header }: PipelineCall): number {
  let bytes = callBytes + message.length
  for (const name in header) bytes += fieldBytes + name.length + (header[name]?.length ?? 0)
  return bytes
}

/** The calls of a message that begin in a turn for which it has waited: as many as share a statement. */
const callsPerTurn = 16

/** The headers that belong to one call and are not inherited from the stream. */
const ofOneCall: ReadonlySet<string> = new Set(["x-request-id", idempotencyHeader, "traceparent", "tracestate"])

/** Stands for a request that was read. */
const nothing = new Uint8Array()

const unknownMethod = new Failure("METHOD_UNKNOWN")
const notTaken = new Failure("ANSWERS_NOT_TAKEN")
/** The same of a call that was not executed, and may be repeated. */
const answersWaiting = new Failure("ANSWERS_NOT_TAKEN", { retryAfterMs: 200 })
const tooManyCalls = new Failure("TOO_MANY_CALLS")
const limitReached = overloaded()
const tooFast = "there are too many requests for health"
