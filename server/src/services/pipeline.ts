import type { PipelineAnswer, PipelineCall, PipelineRequest, PipelineService } from "@authwire/proto"
import type { Status } from "@authwire/proto/rpc/status"
import type { Call, Implementation } from "../dispatch/call.js"
import type { Inside } from "../dispatch/dispatch.js"
import { type Running, requestIdOf } from "../dispatch/under-way.js"
import { wireStatus } from "../dispatch/wire-status.js"
import { Failure, type Reason, toStatus } from "../errors.js"
import { type Outbox, outbox } from "./outbox.js"

export interface PipelineOptions extends Inside {
  /** How many calls of one stream may be under way at the same time. */
  maxInFlight: number
  /** The largest message of a call, in bytes. */
  maxMessageBytes: number
}

const answerType = "authwire.v1.PipelineAnswer"
const responseType = "authwire.v1.PipelineResponse"

// A client that was asked to go elsewhere and does not, nor has a call under way, need not be waited for.
const moveMs = 1_000

/** The third way into the dispatch, beside the doors: unary calls as messages of one stream. */
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
  const { find, maxInFlight, refused } = options
  const underWay = new Map<number, Running>()
  let finishing = false

  const refuse = (frame: PipelineCall, reason: Reason): void => {
    const requestId = requestIdOf(frame.header["x-request-id"])
    const error = wireStatus(toStatus(new Failure(reason), requestId))
    refused(find(frame.method)?.desc ?? stream.method, "pipeline", requestId, error.code)
    answers.put({ $typeName: answerType, id: frame.id, outcome: { case: "error", value: error } }, sizeOf(error), true)
  }

  const begin = (frame: PipelineCall): void => {
    const { id, header } = frame
    if (underWay.has(id)) throw brokenRule("calls.id", "must not be that of a call under way")
    const method = find(frame.method)
    if (method === undefined || underWay.size >= maxInFlight) {
      refuse(frame, method === undefined ? "METHOD_UNKNOWN" : "TOO_MANY_CALLS")
      return
    }
    const running = method.begin({
      door: "pipeline",
      timeoutMs: frame.timeoutMs,
      header: (name) => {
        // The key is the stream's, the id the call's own.
        if (name === "authorization") return stream.header(name)
        return header[name] ?? (name === "x-request-id" ? undefined : stream.header(name))
      },
      carrier: stream,
    })
    underWay.set(id, running)
    const end = (answer: PipelineAnswer, bytes: number): void => {
      running.end()
      // Given up, and perhaps its id belongs to another call by now.
      if (underWay.get(id) !== running) return
      underWay.delete(id)
      answers.put(answer, bytes, underWay.size > 0)
      if (finishing && underWay.size === 0) answers.close()
    }
    method.unaryBytes(frame.message, running.call).then(
      (message) => end({ $typeName: answerType, id, outcome: { case: "message", value: message } }, message.length),
      (thrown: unknown) => {
        const error = wireStatus(thrown)
        end({ $typeName: answerType, id, outcome: { case: "error", value: error } }, sizeOf(error))
      },
    )
  }

  const giveUp = (id: number): void => {
    const running = underWay.get(id)
    underWay.delete(id)
    running?.cancel()
    if (finishing && underWay.size === 0) answers.close()
  }

  const finish = (): void => {
    finishing = true
    if (underWay.size === 0) answers.close()
  }

  return {
    /** Carries out what the client asks until it closes its side; then the calls under way are answered. */
    read(requests: AsyncIterable<PipelineRequest>): void {
      const reading = async () => {
        for await (const request of requests) {
          for (const id of request.cancelledIds) giveUp(id)
          for (const frame of request.calls) begin(frame)
          // Whoever does not read its answers is not listened to.
          await answers.room()
        }
      }
      reading().then(finish, answers.fail)
    },
    /** Ends the stream once no call is under way. */
    finish,
    /** The client is gone. */
    cancel(): void {
      for (const running of underWay.values()) running.cancel()
      underWay.clear()
    },
  }
}

/** About how large an error is, in bytes. */
function sizeOf({ message, details }: Status): number {
  return details.reduce((bytes, { typeUrl, value }) => bytes + typeUrl.length + value.length, message.length)
}

function brokenRule(field: string, description: string): Failure {
  return new Failure("INVALID_FIELD", { violations: [{ field, description }] })
}
