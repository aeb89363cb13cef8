import { type DescMessage, type DescMethodStreaming, fromBinary, type MessageShape } from "@bufbuild/protobuf"
import type { ConnectError, StreamResponse } from "@connectrpc/connect"
import type { CallOptions, Client, Metadata, ServiceError } from "@grpc/grpc-js"
import { explainTls, type Security } from "../errors/tls-error.js"
import { identity, streamResponse, toConnectError } from "./grpc-wire.js"
import { cancelled } from "./message.js"

export interface GrpcStreamOptions {
  client: Client
  security: Security
  /** The serialized request. */
  bytes: Buffer
  metadata: Metadata
  callOptions: CallOptions
  signal: AbortSignal | undefined
  /** Called when the stream has ended in any way. */
  over: () => void
}

/** A stream, and what ends it because its connection is lost. */
export interface GrpcStream<I extends DescMessage, O extends DescMessage> {
  response: StreamResponse<I, O>
  lose(error: ConnectError): void
}

/**
 * Opens a server stream. Its messages are read from the connection only as fast as they are iterated. The stream ends when
 * the iteration does, and when the signal aborts.
 */
export function openGrpcStream<I extends DescMessage, O extends DescMessage>(
  method: DescMethodStreaming<I, O>,
  { client, security, bytes, metadata, callOptions, signal, over }: GrpcStreamOptions,
): GrpcStream<I, O> {
  const path = `/${method.parent.typeName}/${method.name}`
  const read = (answer: Buffer) => fromBinary(method.output, answer)
  const call = client.makeServerStreamRequest(path, identity, read, bytes, metadata, callOptions)
  const received: { header?: Metadata; trailer?: Metadata } = {}
  let lost: ConnectError | undefined
  const cancel = () => call.cancel()
  call.on("metadata", (metadata) => {
    received.header = metadata
  })
  // The iteration throws the same error. It may have ended before.
  call.on("error", () => {})
  call.on("status", (status) => {
    received.trailer = status.metadata
    signal?.removeEventListener("abort", cancel)
    over()
  })
  signal?.addEventListener("abort", cancel)

  async function* messages(): AsyncGenerator<MessageShape<O>, void> {
    try {
      for await (const message of call) yield message as MessageShape<O>
    } catch (error) {
      if (signal?.aborted) throw cancelled(signal)
      throw lost ?? explainTls(toConnectError(error as ServiceError, received.header), security)
    } finally {
      cancel()
    }
  }

  return {
    response: streamResponse(method, messages(), received),
    lose(error) {
      lost = error
      cancel()
    },
  }
}
