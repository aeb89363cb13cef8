import type { DescMessage, DescMethod } from "@bufbuild/protobuf"
import { Code, ConnectError } from "@connectrpc/connect"
import type { UniversalServerResponse } from "@connectrpc/connect/protocol"
import {
  endStreamFlag,
  endStreamFromJson,
  endStreamToJson,
  errorFromJsonBytes,
  errorToJsonBytes,
} from "@connectrpc/connect/protocol-connect"
import { findTrailerError, setTrailerStatus } from "@connectrpc/connect/protocol-grpc"
import { trailerFlag, trailerParse, trailerSerialize } from "@connectrpc/connect/protocol-grpc-web"
import { Failure, toStatus } from "../../rpc/errors.js"

/** Told of every call whose request was not read: with the failure, if that is because it is no message. */
export type Rejected = (code: Code, failure?: Failure) => void

/**
 * Puts our own error in the place of those that Connect makes by itself when it cannot read a request: they quote what
 * they could not read, name it INTERNAL in some protocols, and have no reason. Errors of the router, which all carry
 * an ErrorInfo, pass as they are.
 */
export function withoutForeignErrors(
  response: UniversalServerResponse,
  method: DescMethod,
  requestId: string,
  rejected: Rejected,
): UniversalServerResponse {
  const replaced = (error: ConnectError | undefined): ConnectError | undefined => {
    if (error === undefined || error.details.length > 0) return undefined
    if (error.code === Code.Unimplemented) {
      rejected(error.code)
      // An unknown compression is quoted, which may be anything.
      const isCount = error.rawMessage.startsWith("protocol error")
      return new ConnectError(
        isCount ? "the request must have one message" : "no such compression is taken here",
        error.code,
      )
    }
    const unreadable = asUnreadable(error, method)
    rejected(unreadable ? Code.InvalidArgument : error.code, unreadable)
    return unreadable && toStatus(unreadable, requestId)
  }
  const type = response.header?.get("content-type") ?? ""
  const { trailer, body } = response
  if (body === undefined) return response

  if (type.startsWith("application/json") && response.status >= 400) {
    const result = { ...response }
    result.header?.delete("content-length")
    result.body = rewriteError(body, result, replaced)
    return result
  }
  const ownTrailer = type.startsWith("application/grpc-web") ? undefined : trailer
  return { ...response, body: rewriteEnds(body, type, ownTrailer, replaced) }
}

/** The failure that an error of Connect stands for, if that is a message which it cannot read. */
export function asUnreadable(error: unknown, { input }: DescMethod): Failure | undefined {
  if (!(error instanceof ConnectError)) return undefined
  if (![Code.InvalidArgument, Code.Internal, Code.Unknown].includes(error.code)) return undefined
  const field = unreadableField(error.rawMessage, input)
  const description = field === undefined ? `is not a well-formed ${input.typeName}` : "cannot be read"
  return new Failure("INVALID_FIELD", { cause: error, violations: [{ field: field ?? "request", description }] })
}

/** The field of a request that Protobuf-ES could not read from JSON: a name of the schema, the rest of its message is not. */
function unreadableField(message: string, input: DescMessage): string | undefined {
  const [, type, name] = /^cannot decode field (\S+)\.(\w+) from JSON: /.exec(message) ?? []
  return type === input.typeName ? input.fields.find((field) => field.name === name)?.name : undefined
}

type Replace = (error: ConnectError | undefined) => ConnectError | undefined

// Not functions inside of the above: each generator function has a map in the old generation of V8 as soon as it is
// called, which keeps all that the function can see, a whole request, until the next large collection.

async function* rewriteError(
  body: AsyncIterable<Uint8Array>,
  result: { status: number },
  replaced: Replace,
): AsyncIterable<Uint8Array> {
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  const bytes = Buffer.concat(chunks)
  const ours = replaced(errorFromJsonBytes(bytes, undefined, new ConnectError("", Code.Unknown)))
  // The status is read after the first bytes of the body.
  if (ours?.code === Code.InvalidArgument) result.status = 400
  yield ours === undefined ? bytes : errorToJsonBytes(ours, undefined)
}

async function* rewriteEnds(
  body: AsyncIterable<Uint8Array>,
  type: string,
  trailer: Headers | undefined,
  replaced: Replace,
): AsyncIterable<Uint8Array> {
  for await (const chunk of body) yield rewriteEnd(chunk, type, replaced)
  const ours = trailer && replaced(findTrailerError(trailer))
  if (trailer !== undefined && ours !== undefined) setTrailerStatus(trailer, ours)
}

// Streams of Connect and all of gRPC-Web end with an envelope of their own: a flag, a length of four bytes, the end.
function rewriteEnd(chunk: Uint8Array, type: string, replaced: Replace): Uint8Array {
  const [flags = 0] = chunk
  const compressed = (flags & 1) !== 0
  if (compressed) return chunk
  if (type.startsWith("application/grpc-web") && (flags & trailerFlag) !== 0) {
    const trailer = trailerParse(chunk.subarray(5))
    const ours = replaced(findTrailerError(trailer))
    if (ours === undefined) return chunk
    setTrailerStatus(trailer, ours)
    return envelope(flags, trailerSerialize(trailer))
  }
  if (type.startsWith("application/connect+") && (flags & endStreamFlag) !== 0) {
    const { metadata, error } = endStreamFromJson(chunk.subarray(5))
    const ours = replaced(error)
    return ours === undefined
      ? chunk
      : envelope(flags, Buffer.from(JSON.stringify(endStreamToJson(metadata, ours, undefined))))
  }
  return chunk
}

function envelope(flags: number, data: Uint8Array): Uint8Array {
  const result = Buffer.alloc(5 + data.length)
  result[0] = flags
  result.writeUInt32BE(data.length, 1)
  result.set(data, 5)
  return result
}
