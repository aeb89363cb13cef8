import type { ServerHttp2Stream } from "node:http2"
import type { Message } from "@bufbuild/protobuf"
import { Failure, toFailure } from "../../errors/failure.js"
import { statusOf } from "../../errors/status.js"
import type { ActiveCall, Incoming } from "../../rpc/active-calls.js"
import type { Method } from "../../rpc/router.js"
import { waitsUntil } from "../../util/abort.js"
import { markAdmitted } from "../closing/close-stream.js"
import type { Connection } from "../limits/connection.js"
import type { OpenMethods } from "../limits/open-methods.js"
import type { RequestUsage } from "../limits/request-usage.js"
import { endWithAnswer, endWithStatus, sendHeader, sendMessage } from "./answer.js"
import { RequestMessages } from "./request.js"

/** A call at the gRPC listener of which only the header was read. */
export interface GrpcCall {
  readonly method: Method
  readonly incoming: Incoming
  readonly connection: Connection
  readonly stream: ServerHttp2Stream
  readonly usage: RequestUsage
  readonly openMethods: OpenMethods
  /** The largest request, in bytes. */
  readonly maxMessageBytes: number
}

export function serveUnary(call: GrpcCall): void {
  const { method, stream, usage } = call
  const active = begin(call)
  const messages = messagesOf(call)
  const read = (): Promise<Uint8Array> => {
    admitted(call)
    return messages.only()
  }
  method
    .unaryBytes(read, active)
    .then((answer) => {
      if (!usage.answers(answer.length)) throw new Failure("ANSWERS_NOT_TAKEN")
      endWithAnswer(stream, answer)
    })
    .catch((error: unknown) => endWithStatus(stream, messages.fault ?? statusOf(toFailure(error), active.requestId)))
    .finally(() => active.end())
}

export async function serveStream(call: GrpcCall): Promise<void> {
  const { method, stream, usage } = call
  const active = begin(call)
  const messages = messagesOf(call)
  const waits = waitsUntil(active.signal)
  let last: Promise<void> | undefined
  try {
    for await (const answer of method.stream(requests(call, messages), active)) {
      const bytes = method.codec.encode(answer)
      admitted(call)
      usage.sent()
      const sent = sendMessage(stream, bytes).then(() => usage.taken())
      // At most two messages are outstanding: one in transit and one queued. Otherwise the stream would buffer many
      // messages, of any size, for a client that does not read. If the call is over, the error of the wait is ignored,
      // because the method throws the reason.
      if (last !== undefined) await waits.for(last).catch(() => {})
      last = sent
    }
    admitted(call)
    sendHeader(stream)
    endWithStatus(stream, ok)
  } catch (thrown) {
    endWithStatus(stream, messages.fault ?? statusOf(toFailure(thrown), active.requestId))
  } finally {
    waits.end()
    active.end()
  }
}

async function* requests(call: GrpcCall, messages: RequestMessages): AsyncIterable<Message> {
  const { method, connection, usage, openMethods } = call
  const { desc, codec } = method
  admitted(call)
  if (desc.methodKind === "server_streaming") {
    const only = await messages.only()
    usage.read()
    yield codec.decode(only)
    return
  }
  let isFirst = true
  for (let bytes = await messages.next(); bytes !== undefined; bytes = await messages.next()) {
    const tooMany = method.isOpen && !isFirst ? openMethods.request(desc, connection) : undefined
    if (tooMany !== undefined) throw tooMany
    isFirst = false
    usage.read()
    yield codec.decode(bytes)
  }
}

const ok = { code: 0, message: "", details: [] }

function begin({ method, incoming, stream }: GrpcCall): ActiveCall {
  const active = method.begin(incoming)
  stream.once("close", () => active.cancel())
  return active
}

function messagesOf({ stream, maxMessageBytes, usage }: GrpcCall): RequestMessages {
  return new RequestMessages(stream, maxMessageBytes, usage)
}

function admitted({ method, stream }: GrpcCall): void {
  if (!method.isOpen) markAdmitted(stream)
}
