import {
  type PipelineAnswer,
  type PipelineRequestSchema,
  type PipelineResponse,
  PipelineService,
  PipelineRequestSchema as requestSchema,
  PipelineResponseSchema as responseSchema,
} from "@authwire/proto"
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "@authwire/proto/rpc/error_details"
import { type Status, StatusSchema } from "@authwire/proto/rpc/status"
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf"
import { anyUnpack, durationMs } from "@bufbuild/protobuf/wkt"
import { Client, credentials, Metadata, type StatusObject, status } from "@grpc/grpc-js"

/** How a failed call or stream ended: the status and its details. */
export interface Ended {
  code: string
  message: string
  reason: string | undefined
  requestId: string | undefined
  /** The scope that the API key lacks. */
  scope: string | undefined
  fields: string[]
  /** The time to wait before a retry, in milliseconds. */
  retryAfterMs: number | undefined
}

/** A stream of PipelineService, message by message, without the code of the client. */
export interface BarePipeline {
  send(request: MessageInitShape<typeof PipelineRequestSchema>): void
  /** Sends bytes that may not be a valid message. */
  write(bytes: Uint8Array): void
  /** Closes the client's side. */
  end(): void
  /** Cancels the whole stream. */
  cancel(): void
  /** Returns the next message. Rejects if the stream ends before it arrives. */
  next(): Promise<PipelineResponse>
  /** Returns the next `count` answers in their order, and ignores the other fields of the messages. */
  answers(count: number): Promise<PipelineAnswer[]>
  /** Returns all messages until the end of the stream that were not yet returned. */
  rest(): Promise<PipelineResponse[]>
  /** How the stream ended. */
  readonly ended: Promise<Ended>
}

const identity = (bytes: Buffer) => bytes
const path = `/${PipelineService.typeName}/${PipelineService.method.pipeline.name}`

/** Opens a connection and a stream on it. */
export function openBarePipeline(url: string, header: Record<string, string> = {}): BarePipeline {
  const client = new Client(new URL(url).host, credentials.createInsecure(), {
    "grpc.use_local_subchannel_pool": 1,
    "grpc.max_send_message_length": -1,
  })
  const metadata = new Metadata()
  for (const [name, value] of Object.entries(header)) metadata.set(name, value)
  const stream = client.makeBidiStreamRequest<Buffer, Buffer>(path, identity, identity, metadata)
  const messages = stream.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>
  const left: PipelineAnswer[] = []
  stream.on("error", () => {})
  const ended = new Promise<Ended>((resolve) => {
    stream.once("status", (end: StatusObject) => {
      client.close()
      const [bytes] = end.metadata.get("grpc-status-details-bin")
      const details = bytes instanceof Uint8Array ? fromBinary(StatusSchema, bytes) : create(StatusSchema)
      // Uses the message of the details, which is unencoded. Servers encode that of the status in different ways.
      resolve(endOf({ ...details, code: end.code, message: details.message || end.details }))
    })
  })
  const next = async (): Promise<PipelineResponse> => {
    const result = await messages.next()
    if (result.done === true) throw new Error(`the stream ended: ${JSON.stringify(await ended)}`)
    return fromBinary(responseSchema, result.value)
  }
  return {
    send: (request) => void stream.write(Buffer.from(toBinary(requestSchema, create(requestSchema, request)))),
    write: (bytes) => void stream.write(Buffer.from(bytes)),
    end: () => void stream.end(),
    cancel: () => stream.cancel(),
    next,
    async answers(count) {
      while (left.length < count) left.push(...(await next()).answers)
      return left.splice(0, count)
    },
    async rest() {
      const responses: PipelineResponse[] = []
      try {
        for (;;) {
          const result = await messages.next()
          if (result.done === true) return responses
          responses.push(fromBinary(responseSchema, result.value))
        }
      } catch {
        return responses
      }
    },
    ended,
  }
}

/** A call as an element of PipelineRequest.calls. */
export function frame<I extends DescMessage>(
  id: number,
  method: DescMethodUnary<I>,
  request: MessageInitShape<I>,
  more: { header?: Record<string, string>; timeoutMs?: number } = {},
) {
  const message = toBinary(method.input, create(method.input, request))
  return { id, method: `${method.parent.typeName}/${method.name}`, message, ...more }
}

/** Returns the message of an answer. Throws if the answer is an error. */
export function messageOf<O extends DescMessage>(
  method: DescMethodUnary<DescMessage, O>,
  { outcome }: PipelineAnswer,
): MessageShape<O> {
  if (outcome.case !== "message") throw new Error(`no message: ${JSON.stringify(outcome.value?.message)}`)
  return fromBinary(method.output, outcome.value)
}

/** Returns the error of an answer. Throws if the answer is not an error. */
export function errorOf({ outcome }: PipelineAnswer): Ended {
  if (outcome.case !== "error") throw new Error("no error")
  return endOf(outcome.value)
}

function endOf({ code, message, details }: Pick<Status, "code" | "message" | "details">): Ended {
  const info = details.map((any) => anyUnpack(any, ErrorInfoSchema)).find((found) => found !== undefined)
  const retry = details.map((any) => anyUnpack(any, RetryInfoSchema)).find((found) => found !== undefined)
  const broken = details.map((any) => anyUnpack(any, BadRequestSchema)).find((found) => found !== undefined)
  return {
    code: status[code] ?? String(code),
    message,
    reason: info?.reason,
    requestId: info?.metadata.request_id,
    scope: info?.metadata.scope,
    fields: broken?.fieldViolations.map(({ field }) => field) ?? [],
    retryAfterMs: retry?.retryDelay && durationMs(retry.retryDelay),
  }
}
