import { type Status, StatusSchema } from "@authwire/proto/rpc/status"
import { type DescMessage, type DescMethodUnary, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf"
import { Code, ConnectError } from "@connectrpc/connect"
import { Metadata, type ServiceError } from "@grpc/grpc-js"

/** Messages pass grpc-js as bytes. */
export const identity = (bytes: Buffer) => bytes

/** Before the call, because grpc-js would report a message that breaks the schema as INTERNAL. */
export function serialize<I extends DescMessage>(method: DescMethodUnary<I>, message: MessageShape<I>): Buffer {
  try {
    return toBuffer(method.input, message)
  } catch (error) {
    throw ConnectError.from(error, Code.InvalidArgument)
  }
}

/** The bytes of a message as grpc-js takes them. */
export function toBuffer<M extends DescMessage>(schema: M, message: MessageShape<M>): Buffer {
  const bytes = toBinary(schema, message)
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

export function cancelled(signal: AbortSignal): ConnectError {
  return ConnectError.from(signal.reason, Code.Canceled)
}

export function toMetadata(header: HeadersInit | undefined): Metadata {
  const metadata = new Metadata()
  if (header === undefined) return metadata
  for (const [name, value] of header instanceof Headers ? header : new Headers(header)) {
    try {
      if (name.endsWith("-bin")) metadata.set(name, Buffer.from(value, "base64"))
      else metadata.set(name, value)
    } catch {
      // What grpc-js throws repeats the value, and that may be a secret.
      throw new ConnectError(`the header ${name} has characters that gRPC does not carry`, Code.InvalidArgument)
    }
  }
  return metadata
}

export function toHeaders(metadata: Metadata | undefined): Headers {
  const headers = new Headers()
  for (const [name, values] of Object.entries(metadata?.toJSON() ?? {})) {
    for (const value of values) {
      try {
        headers.append(name, typeof value === "string" ? value : value.toString("base64"))
      } catch {
        // gRPC may carry what Headers reject. Such a header is nothing to fail for.
      }
    }
  }
  return headers
}

/** The numbers of the codes are the same in both. */
export function toConnectError({ code, details, metadata }: ServiceError): ConnectError {
  // grpc-js adds a note that is mostly empty.
  const message = details.replace(/\.? Resolution note: $/, "")
  const [bytes] = metadata.get("grpc-status-details-bin")
  const status = bytes instanceof Uint8Array ? readStatus(bytes, code) : undefined
  // grpc-js decodes only some of what others encode in the message: the details hold it as it is.
  const error = new ConnectError(status?.message || message, code as number as Code, toHeaders(metadata))
  // Should a handler of Connect pass the error on, it does not pass on its headers.
  error.isWireError = true
  if (status !== undefined) error.details = detailsOf(status)
  return error
}

function readStatus(bytes: Uint8Array, code: number): Status | undefined {
  try {
    const status = fromBinary(StatusSchema, bytes)
    // A proxy that changed the status leaves the details of another one behind.
    return status.code === code ? status : undefined
  } catch {
    return undefined
  }
}

/** The details of an error, for `findDetails`. */
export function detailsOf(status: Status): ConnectError["details"] {
  return status.details.map(({ typeUrl, value }) => ({ type: typeUrl.slice(typeUrl.lastIndexOf("/") + 1), value }))
}
