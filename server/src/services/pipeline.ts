import type { PipelineAnswerSchema, PipelineCall, PipelineRequest, PipelineService } from "@authwire/proto"
import type { MessageInitShape } from "@bufbuild/protobuf"
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

type Answer = MessageInitShape<typeof PipelineAnswerSchema>

// A client that was asked to go elsewhere and does not, nor has a call under way, need not be waited for.
const moveMs = 1_000

/** The third way into the dispatch, beside the doors: unary calls as messages of one stream. */
export function pipelineService(options: PipelineOptions): Implementation<typeof PipelineService> {
  const { draining, maxInFlight, maxMessageBytes } = options
  return {
    async *pipeline(requests, call) {
      const answers = outbox<Answer | "draining">()
      const calls = carriedCalls(options, call, answers)
      let moving: NodeJS.Timeout | undefined
      const onDrain = () => {
        answers.put("draining", 0)
        moving = setTimeout(calls.finish, moveMs)
      }
      try {
        yield { settings: { maxInFlight, maxMessageBytes } }
        if (draining.aborted) onDrain()
        else draining.addEventListener("abort", onDrain, { once: true })
        calls.read(requests)
        for (let batch = await answers.take(); batch !== undefined; batch = await answers.take()) {
          yield {
            answers: batch.filter((answer) => answer !== "draining"),
            draining: batch.includes("draining"),
          }
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
function carriedCalls(options: PipelineOptions, stream: Call, answers: Outbox<Answer | "draining">) {
  const { find, maxInFlight, refused } = options
  const underWay = new Map<number, Running>()
  let finishing = false

  const refuse = (frame: PipelineCall, reason: Reason): void => {
    const requestId = requestIdOf(frame.header["x-request-id"])
    const error = wireStatus(toStatus(new Failure(reason), requestId))
    refused(find(frame.method)?.desc ?? stream.method, "pipeline", requestId, error.code)
    answers.put({ id: frame.id, outcome: { case: "error", value: error } }, 0)
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
      header: (name) => header[name] ?? (name === "x-request-id" ? undefined : stream.header(name)),
      carrier: stream,
    })
    underWay.set(id, running)
    const end = (answer: Answer, bytes: number): void => {
      running.end()
      // Given up, and perhaps its id belongs to another call by now.
      if (underWay.get(id) !== running) return
      underWay.delete(id)
      answers.put(answer, bytes)
      if (finishing && underWay.size === 0) answers.close()
    }
    method.unaryBytes(frame.message, running.call).then(
      (message) => end({ id, outcome: { case: "message", value: message } }, message.length),
      (error: unknown) => end({ id, outcome: { case: "error", value: wireStatus(error) } }, 0),
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

function brokenRule(field: string, description: string): Failure {
  return new Failure("INVALID_FIELD", { violations: [{ field, description }] })
}
