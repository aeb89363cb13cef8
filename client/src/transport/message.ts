import { type DescMessage, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf"
import { Code, ConnectError } from "@connectrpc/connect"

/** Serializes a message. A message that violates the schema is rejected with INVALID_ARGUMENT. */
export function serialize<M extends DescMessage>(schema: M, message: MessageShape<M>) {
  try {
    return toBinary(schema, message)
  } catch (error) {
    throw ConnectError.from(error, Code.InvalidArgument)
  }
}

/** Parses a response. */
export function parse<M extends DescMessage>(schema: M, bytes: Uint8Array): MessageShape<M> {
  try {
    return fromBinary(schema, bytes)
  } catch {
    throw new ConnectError(`the response is not a well-formed ${schema.typeName}`, Code.Internal)
  }
}

/** Creates the error of a call that its caller has cancelled. */
export function cancelled(signal: AbortSignal): ConnectError {
  return ConnectError.from(signal.reason, Code.Canceled)
}
