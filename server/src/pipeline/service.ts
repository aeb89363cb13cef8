import type { PipelineAnswer, PipelineCall, PipelineRequest, PipelineService } from "@authwire/proto"
import type { DescMethod } from "@bufbuild/protobuf"
import { overloaded } from "../overload/concurrency-limit.js"
import { type RejectionPause, rejectionMs } from "../overload/pause.js"
import type { Running } from "../rpc/active-calls.js"
import type { Call, Implementation } from "../rpc/call.js"
import { Failure, toFailure, toStatus } from "../rpc/errors.js"
import { idempotencyHeader } from "../rpc/interceptors/idempotency.js"
import { type Rejecter, sizeOf } from "../rpc/rejection.js"
import { type Inside, keyOf, type Method } from "../rpc/router.js"
import { wireStatus } from "../rpc/wire-status.js"
import { inOwnMemory } from "../transport/budgets/own-memory.js"
import { type Outbox, outbox } from "./send-queue.js"

export interface PipelineOptions extends Inside {
  /** How many calls of one stream may be active at the same time. */
  maxInFlight: number
  /** The largest message of a call, in bytes. */
  maxMessageBytes: number
  reject: Rejecter
  /** Counts a call of a method that does not exist against the rate of the stream's key. Throws RATE_LIMITED. */
  limitUnknown: (stream: Call) => void
  pauseAfter: RejectionPause
}

const answerType = "authwire.v1.PipelineAnswer"
const responseType = "authwire.v1.PipelineResponse"

// A client that was asked to go elsewhere and does not, nor has an active call, need not be waited for.
const moveMs = 1_000

/** The third way into the router, beside the listeners: unary calls as messages of one stream. */
export function pipelineService(options: PipelineOptions): Implementation<typeof PipelineService> {
  const { draining, maxInFlight, maxMessageBytes } = options
  return {
    async *pipeline(requests, call) {
      const waiting = outbox<PipelineAnswer | "draining">()
      const calls = carriedCalls(options, call, waiting)
      let moving: NodeJS.Timeout | undefined
      const onDrain = () => {
        waiting.put("draining", 0, false)
        moving = setTimeout(calls.finish, moveMs)
      }
      // Also when the client has closed its side before, and nothing more is read.
      call.signal.addEventListener("abort", () => waiting.fail(call.signal.reason), { once: true })
      try {
        yield { settings: { maxInFlight, maxMessageBytes } }
        if (draining.aborted) onDrain()
        else draining.addEventListener("abort", onDrain, { once: true })
        calls.read(requests)
        for (let batch = await waiting.take(); batch !== undefined; batch = await waiting.take()) {
          const answers = batch.filter((item) => item !== "draining")
          yield { $typeName: responseType, answers, draining: answers.length < batch.length }
          calls.sent(answers)
        }
      } finally {
        clearTimeout(moving)
        draining.removeEventListener("abort", onDrain)
        calls.cancel()
      }
    },
  }
}

/** The calls that one stream carries. */
function carriedCalls(options: PipelineOptions, stream: Call, answers: Outbox<PipelineAnswer | "draining">) {
  const { methods, maxInFlight, pauseAfter } = options
  // A Map may hold on to what has left it (see rpc/active-calls.ts): so it has no call itself.
  const active = new Map<number, { running: Running | undefined }>()
  const budgets = stream.connection
  let finishing = false
  let justRejected = 0
  /** Bytes of answers that wait to be sent. */
  let waitingBytes = 0

  const reject = (frame: PipelineCall, method: DescMethod, failure: Failure): void => {
    const { status, bytes } = options.reject(failure, method, "pipeline", frame.header["x-request-id"])
    answers.put({ $typeName: answerType, id: frame.id, outcome: { case: "error", value: status } }, bytes, true)
    justRejected++
  }

  /** Why there is no place for a call; if there is, its request is counted. */
  const rejectionOf = (method: Method, requestBytes: number): Failure | undefined => {
    if (active.size >= maxInFlight) return tooManyCalls
    if (method.rejects(keyOf(stream))) return noPlace
    return budgets?.requests.take(requestBytes) === false ? tooManyCalls : undefined
  }

  const begin = (frame: PipelineCall): void => {
    const { id, header } = frame
    if (active.has(id)) throw brokenRule("calls.id", "must not be that of an active call")
    const method = methods.get(frame.method)
    if (method === undefined) {
      reject(frame, stream.method, unknown())
      return
    }
    const requestBytes = sizeOfRequest(frame)
    const rejection = rejectionOf(method, requestBytes)
    if (rejection !== undefined) {
      reject(frame, method.desc, rejection)
      return
    }
    const running = method.begin({
      transport: "pipeline",
      timeoutMs: frame.timeoutMs,
      header: (name) => {
        // The API key is the stream's, what names a call the call's own.
        if (name === "authorization") return stream.header(name)
        return header[name] ?? (ofOneCall.has(name) ? undefined : stream.header(name))
      },
      carrier: stream,
    })
    const entry: { running: Running | undefined } = { running }
    active.set(id, entry)
    const end = (answer: PipelineAnswer, bytes: number): void => {
      running.end()
      budgets?.requests.give(requestBytes)
      // Given up, and perhaps its id belongs to another call by now.
      if (active.get(id) !== entry) return
      active.delete(id)
      entry.running = undefined
      answers.put(answer, bytes, active.size > 0)
      if (finishing && active.size === 0) answers.close()
    }
    const fail = (thrown: unknown): void => {
      const error = wireStatus(thrown)
      end({ $typeName: answerType, id, outcome: { case: "error", value: error } }, sizeOf(error))
    }
    const request = oneRequest(frame.message)
    const answer = method.unaryBytes(request.read, running.call)
    request.keep()
    answer.then((message) => {
      if (active.get(id) === entry && !hold(message.length)) fail(toStatus(notTaken, running.call.requestId))
      else end({ $typeName: answerType, id, outcome: { case: "message", value: message } }, message.length)
    }, fail)
  }

  const unknown = (): Failure => {
    try {
      options.limitUnknown(stream)
      return unknownMethod
    } catch (error) {
      return toFailure(error)
    }
  }

  const hold = (bytes: number): boolean => {
    if (budgets?.answers.take(bytes) === false) return false
    waitingBytes += bytes
    return true
  }

  const giveUp = (id: number): void => {
    const entry = active.get(id)
    if (entry === undefined) return
    active.delete(id)
    entry.running?.cancel()
    entry.running = undefined
    if (finishing && active.size === 0) answers.close()
  }

  const finish = (): void => {
    finishing = true
    if (active.size === 0) answers.close()
  }

  return {
    /** Carries out what the client asks until it closes its side; then the active calls are answered. */
    read(requests: AsyncIterable<PipelineRequest>): void {
      const reading = async () => {
        for await (const request of requests) {
          for (const id of request.cancelledIds) giveUp(id)
          for (const frame of request.calls) begin(frame)
          if (justRejected > 0) {
            await pauseAfter(justRejected * rejectionMs.carried)
            justRejected = 0
          }
          // Whoever does not read its answers is not listened to.
          const space = answers.space()
          if (space !== undefined) await space
        }
      }
      reading().then(finish, answers.fail)
    },
    /** The client takes these answers. */
    sent(answers: readonly PipelineAnswer[]): void {
      let bytes = 0
      for (const { outcome } of answers) if (outcome.case === "message") bytes += outcome.value.length
      waitingBytes -= bytes
      budgets?.answers.give(bytes)
    },
    /** Ends the stream once no call is active. */
    finish,
    /** The client is gone. */
    cancel(): void {
      for (const { running } of active.values()) running?.cancel()
      active.clear()
      budgets?.answers.give(waitingBytes)
      waitingBytes = 0
    },
  }
}

/** What a call keeps until it is over, about, in bytes. */
function sizeOfRequest({ message, header }: PipelineCall): number {
  let bytes = message.length
  for (const name in header) bytes += name.length + (header[name]?.length ?? 0)
  return bytes
}

/**
 * A request that is let go of when it is read. One that waits has memory of its own: as it comes it is a part of a message of the
 * stream, all of which it would keep. Not functions inside of `begin`: what that sees would stay with them for as long as the call takes.
 */
function oneRequest(message: Uint8Array): { read: () => Uint8Array; keep: () => void } {
  let left: Uint8Array | undefined = message
  return {
    read() {
      const read = left
      left = undefined
      if (read === undefined) throw new Error("a request is read twice")
      return read
    },
    keep() {
      if (left !== undefined) left = inOwnMemory(left)
    },
  }
}

/** Headers that say nothing of the other calls of a stream. */
const ofOneCall: ReadonlySet<string> = new Set(["x-request-id", idempotencyHeader, "traceparent", "tracestate"])

const unknownMethod = new Failure("METHOD_UNKNOWN")
const notTaken = new Failure("ANSWERS_NOT_TAKEN")
const tooManyCalls = new Failure("TOO_MANY_CALLS")
const noPlace = overloaded()

function brokenRule(field: string, description: string): Failure {
  return new Failure("INVALID_FIELD", { violations: [{ field, description }] })
}
