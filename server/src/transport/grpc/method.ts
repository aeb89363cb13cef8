import type { ServerHttp2Stream } from "node:http2"
import type { Message } from "@bufbuild/protobuf"
import { Failure, toFailure } from "../../errors/failure.js"
import { statusOf } from "../../errors/status.js"
import type { Call, CallOptions } from "../../rpc/call.js"
import type { Method, Router } from "../../rpc/router.js"
import { waitsUntil } from "../../util/abort.js"
import { markAdmitted } from "../closing/close-stream.js"
import type { Connection } from "../limits/connection.js"
import type { OpenMethods } from "../limits/open-methods.js"
import { RequestBody } from "../limits/request-body.js"
import type { RequestUsage } from "../limits/request-usage.js"
import { endWithAnswer, endWithStatus, sendHeader, sendMessage } from "./answer.js"
import { RequestMessages } from "./request.js"

/** A request at the gRPC listener of which only the header was read. */
export interface GrpcRequest {
  readonly method: Method
  readonly options: CallOptions
  readonly connection: Connection
  readonly stream: ServerHttp2Stream
  readonly usage: RequestUsage
  readonly openMethods: OpenMethods
  /** The largest request, in bytes. */
  readonly maxMessageBytes: number
  /** See Router. */
  readonly messageTurn: Router["messageTurn"]
}

export function serveUnary(request: GrpcRequest): void {
  const { method, stream, usage } = request
  const call = begin(request)
  const body = new RequestBody(stream, usage)
  const messages = new RequestMessages(body, request.maxMessageBytes)
  const read = (): Promise<Uint8Array> => {
    admitted(request)
    return messages.only()
  }
  method
    .unaryBytes(read, call)
    .then((answer) => {
      if (!usage.answers(answer.length)) throw new Failure("ANSWERS_NOT_TAKEN")
      if (call.metadata === undefined) return endWithAnswer(stream, answer)
      sendMessage(stream, answer, call.metadata)
      endWithStatus(stream, ok, call.metadata)
    })
    .catch((error: unknown) => endWithStatus(stream, statusOf(toFailure(error), call.requestId), call.metadata))
    .finally(() => {
      body.discard()
      call.end()
    })
}

export async function serveStream(request: GrpcRequest): Promise<void> {
  const { method, stream, usage } = request
  const call = begin(request)
  const body = new RequestBody(stream, usage)
  const messages = new RequestMessages(body, request.maxMessageBytes)
  const waits = waitsUntil(call.signal)
  try {
    for await (const answer of method.stream(requests(request, messages, call), call)) {
      // One message is outstanding. Otherwise the stream would buffer many of any size for a client that does not read. If
      // the call is over, the error of the wait is ignored, because the method throws the reason.
      await waits.for(send(request, answer, call)).catch(() => {})
    }
    admitted(request)
    sendHeader(stream, call.metadata)
    endWithStatus(stream, ok, call.metadata)
  } catch (thrown) {
    endWithStatus(stream, statusOf(toFailure(thrown), call.requestId), call.metadata)
  } finally {
    waits.end()
    body.discard()
    call.end()
  }
}

/** Sends a message of a stream. Resolves when the client has it. Not within serveStream, which would keep it while it waits for the next one. */
function send(request: GrpcRequest, answer: Message, call: Call): Promise<void> {
  const { method, stream, usage } = request
  const message = method.codec.encode(answer)
  const { length } = message
  admitted(request)
  usage.sent(length)
  return sendMessage(stream, message, call.metadata).then(() => usage.taken(length))
}

async function* requests(request: GrpcRequest, messages: RequestMessages, call: Call): AsyncIterable<Message> {
  const { method, connection, usage, openMethods, messageTurn } = request
  const { desc, codec } = method
  admitted(request)
  if (desc.methodKind === "server_streaming") {
    const only = await messages.only()
    usage.read()
    yield codec.decode(only)
    return
  }
  let isFirst = true
  // A function of its own, because a generator keeps its variables while it waits: a message in one of them would stay in memory until the
  // next one arrives, and count nowhere.
  const next = async (): Promise<Message | undefined> => {
    const bytes = await messages.next()
    if (bytes === undefined) return undefined
    const tooMany = method.isOpen && !isFirst ? openMethods.request(desc, connection) : undefined
    if (tooMany !== undefined) throw tooMany
    isFirst = false
    // Until its turn the message counts as one that has not been read.
    const waiting = messageTurn(call.owner)
    if (waiting !== undefined) await waiting
    usage.read()
    return codec.decode(bytes)
  }
  for (let message = await next(); message !== undefined; message = await next()) yield message
}

const ok = { code: 0, message: "", details: [] }

function begin({ method, options, stream }: GrpcRequest): Call {
  const call = method.begin(options)
  stream.once("close", () => call.cancel())
  return call
}

function admitted({ method, stream }: GrpcRequest): void {
  if (!method.isOpen) markAdmitted(stream)
}
