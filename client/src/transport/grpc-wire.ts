import { type Status, StatusSchema } from "@authwire/proto/rpc/status"
import {
  type DescMessage,
  type DescMethodStreaming,
  type DescMethodUnary,
  fromBinary,
  type MessageShape,
} from "@bufbuild/protobuf"
import { Code, ConnectError, type StreamResponse, type UnaryResponse } from "@connectrpc/connect"
import { Metadata, type ServiceError } from "@grpc/grpc-js"

/** The serializer and deserializer for grpc-js: messages pass it as bytes. */
export const identity = (bytes: Buffer) => bytes

/** Returns bytes as the Buffer that grpc-js requires. */
export function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** The metadata of a call that has been received so far. */
export interface ReceivedMetadata {
  readonly header?: Metadata
  readonly trailer?: Metadata
}

/** Creates a response whose headers are converted when they are read, because hardly any caller reads them. */
export function unaryResponse<I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  message: MessageShape<O>,
  received: ReceivedMetadata = {},
): UnaryResponse<I, O> {
  return {
    stream: false,
    service: method.parent,
    method,
    message,
    get header() {
      return toHeaders(received.header)
    },
    get trailer() {
      return toHeaders(received.trailer)
    },
  }
}

/** Does the same for a stream. Its header is received with the first message. */
export function streamResponse<I extends DescMessage, O extends DescMessage>(
  method: DescMethodStreaming<I, O>,
  message: AsyncIterable<MessageShape<O>>,
  received: ReceivedMetadata,
): StreamResponse<I, O> {
  return {
    stream: true,
    service: method.parent,
    method,
    message,
    get header() {
      return toHeaders(received.header)
    },
    get trailer() {
      return toHeaders(received.trailer)
    },
  }
}

export function toMetadata(header: HeadersInit | undefined): Metadata {
  const metadata = new Metadata()
  if (header === undefined) return metadata
  for (const [name, value] of header instanceof Headers ? header : new Headers(header)) {
    try {
      if (name.endsWith("-bin")) metadata.set(name, Buffer.from(value, "base64"))
      else metadata.set(name, value)
    } catch {
      // The error of grpc-js contains the value, which may be a secret.
      throw new ConnectError(`the header ${name} has characters that gRPC does not allow`, Code.InvalidArgument)
    }
  }
  return metadata
}

function toHeaders(metadata: Metadata | undefined, headers = new Headers()): Headers {
  for (const [name, values] of Object.entries(metadata?.toJSON() ?? {})) {
    for (const value of values) {
      try {
        headers.append(name, typeof value === "string" ? value : value.toString("base64"))
      } catch {
        // gRPC metadata may contain values that Headers rejects. The call does not fail because of them.
      }
    }
  }
  return headers
}

/** Converts an error of grpc-js, whose codes have the same numbers. Its metadata is header and trailer. */
export function toConnectError(failure: ServiceError, header?: Metadata): ConnectError {
  // If a response is compressed in an unknown way, grpc-js ends the call without code and details, against its own types.
  const { code = Code.Internal as number, details = "the response cannot be read", metadata } = failure
  // grpc-js appends this note even if it is empty.
  const message = details.replace(/\.? Resolution note: $/, "")
  const [bytes] = metadata.get("grpc-status-details-bin")
  const status = bytes instanceof Uint8Array ? readStatus(bytes, code) : undefined
  // grpc-js does not fully decode the encoded message of every server. The details contain the message unencoded.
  const error = new ConnectError(
    status?.message || message,
    code as number as Code,
    toHeaders(metadata, toHeaders(header)),
  )
  // If a Connect handler rethrows this error, its headers are then not sent to the handler's client.
  error.isWireError = true
  if (status !== undefined) error.details = detailsOf(status)
  return error
}

function readStatus(bytes: Uint8Array, code: number): Status | undefined {
  try {
    const status = fromBinary(StatusSchema, bytes)
    // A proxy that changes the status may keep the details of the original status.
    return status.code === code ? status : undefined
  } catch {
    return undefined
  }
}

/** Converts the details of a status for `ConnectError.findDetails`. */
export function detailsOf(status: Status): ConnectError["details"] {
  return status.details.map(({ typeUrl, value }) => ({ type: typeUrl.slice(typeUrl.lastIndexOf("/") + 1), value }))
}
