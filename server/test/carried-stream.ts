import { type PipelineRequest, PipelineRequestSchema, type PipelineResponse, UserService } from "@authwire/proto"
import { create, type DescMethod, type MessageInitShape } from "@bufbuild/protobuf"
import { jest } from "@jest/globals"
import { pino } from "pino"
import { Failure } from "../src/errors/failure.js"
import type { RejectionPause } from "../src/overload/pause.js"
import { pipelineService } from "../src/pipeline/service.js"
import type { Call, CallOptions } from "../src/rpc/call.js"
import { rejecter, rejections } from "../src/rpc/rejection.js"
import type { Inside, Method } from "../src/rpc/router.js"
import type { Read } from "../src/rpc/running.js"
import { Budget } from "../src/util/budget.js"

/** The size of the budget of requests of a stream, in bytes. */
export const size = 60_000
/** What a call that waits for its turn counts beside its own bytes, and one that has begun. */
export const waitingBytes = 256
export const callBytes = waitingBytes + 1_024
/** What an answer counts beside its own bytes. */
export const answerBytes = 384

/** Resolves when everything that could happen without the test has happened. */
export const settle = () => new Promise(setImmediate)

/** A stream that has begun to read, and whose calls are answered by the test. */
export async function openStream({
  header = {},
  maxInFlight = 10,
  requests = new Budget(size),
  answers = new Budget(size),
  rejects = () => false,
  pauseAfter = async () => {},
  messageTurn = () => undefined,
}: {
  header?: Record<string, string>
  maxInFlight?: number
  requests?: Budget
  answers?: Budget
  rejects?: Method["rejects"]
  pauseAfter?: RejectionPause
  messageTurn?: Inside["messageTurn"]
} = {}) {
  const begun: {
    options: CallOptions
    cancel: jest.Mock<Call["cancel"]>
    end: jest.Mock<Call["end"]>
    read: Read<Uint8Array>
    answer(bytes: number): void
    fail(): void
  }[] = []
  const method: Partial<Method> = {
    desc: UserService.method.getUser as DescMethod,
    rejects,
    begin(options) {
      const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>()
      const fail = () => reject(new Failure("CANCELLED"))
      const one = {
        options,
        cancel: jest.fn(fail),
        end: jest.fn(),
        fail,
        answer: (n: number) => resolve(new Uint8Array(n)),
      }
      begun.push({ ...one, read: () => new Uint8Array() })
      const { cancel, end } = one
      return { cancel, end, answer: promise, at: begun.length - 1 } as unknown as Call
    },
    unaryBytes(read, call) {
      const { answer, at } = call as unknown as { answer: Promise<Uint8Array>; at: number }
      Object.assign(begun[at] as object, { read })
      return answer
    },
  }
  const draining = new AbortController()
  const service = pipelineService({
    methods: new Map([["any", method as Method]]),
    draining: draining.signal,
    maxInFlight,
    maxMessageBytes: 1_000,
    reject: rejecter({
      rejections: rejections(pino({ enabled: false })),
      observer: { rejected: () => {} },
      audit: undefined,
    }),
    limitUnknown: () => {},
    pauseAfter,
    messageTurn,
  })
  const budgets = { requests, answers }
  const free = () =>
    [budgets.requests, budgets.answers].map((budget) => {
      let bytes = 2 * size
      while (!budget.take(bytes)) bytes--
      budget.give(bytes)
      return bytes
    })
  const initially = free()
  const abort = new AbortController()
  const sent: PipelineRequest[] = []
  let isHalfClosed = false
  let wake = () => {}
  async function* messages(): AsyncGenerator<PipelineRequest> {
    for (;;) {
      const next = sent.shift()
      if (next !== undefined) yield next
      else if (isHalfClosed) return
      else await new Promise<void>((resolve) => (wake = resolve))
    }
  }
  const call = {
    signal: abort.signal,
    header: (name: string) => header[name],
    connection: budgets,
    owner: { tenant: "default", keyId: undefined },
  } as unknown as Call
  const stream = service
    .pipeline(messages(), {} as never, call)
    [Symbol.asyncIterator]() as AsyncIterator<PipelineResponse>
  await stream.next()
  let taking: ReturnType<typeof stream.next> | undefined = stream.next()
  taking.catch(() => {})
  await settle()
  return {
    begun,
    abort,
    draining,
    /** Takes the next message. The one before has been sent then. */
    async next() {
      const { value } = await (taking ?? stream.next())
      taking = undefined
      const message = value as PipelineResponse | undefined
      // The stream empties it once it was sent.
      return message && { ...message, answers: [...message.answers] }
    },
    end: () => stream.return?.(),
    async send(request: MessageInitShape<typeof PipelineRequestSchema>) {
      sent.push(create(PipelineRequestSchema, request))
      wake()
      await settle()
    },
    async halfClose() {
      isHalfClosed = true
      wake()
      await settle()
    },
    /** How many of the sent messages the stream has not read. */
    unread: () => sent.length,
    /** The bytes that are taken of the budgets of requests and of answers. Below zero if something was given back twice. */
    taken: () => free().map((bytes, index) => (initially[index] ?? 0) - bytes),
  }
}

/** A message with one call. */
export const one = (id: number, bytes = 0, header: Record<string, string> = {}) => ({
  calls: [{ id, method: "any", message: new Uint8Array(bytes), header }],
})
