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
import { Failure, invalidField } from "../../errors/failure.js"
import { connectErrorOf } from "../../errors/status.js"
import { flaggedMessage, unknownCompression } from "../listener/content-type.js"
import { prefixBytes, withPrefix } from "../listener/prefix.js"

/** Called for every call that Connect ends by itself, with what the caller gets instead. */
export type OnForeignError = (failure: Failure) => void

/**
 * What a method has returned. If it has failed, the answer has its error. If it has answered, an error of Connect is about
 * the answer and not about the request.
 */
export type Outcome = "answered" | "failed"

/** A request that Connect reads. */
export interface ForeignRequest {
  readonly requestId: string
  outcome(): Outcome | undefined
}

/**
 * Replaces the errors that Connect creates itself when it cannot read a request or write an answer. Those errors quote what
 * cannot be converted, have the same codes for both in some protocols, and have no reason. Errors of the router pass
 * unchanged: all of Authwire's carry an ErrorInfo, and `outcome` tells those of other services.
 */
export function withoutForeignErrors(
  response: UniversalServerResponse,
  { requestId, outcome }: ForeignRequest,
  onForeignError: OnForeignError,
): UniversalServerResponse {
  const replaced = (error: ConnectError | undefined): ConnectError | undefined => {
    if (error === undefined || error.details.length > 0 || outcome() === "failed") return undefined
    const isOfAnswer = outcome() === "answered" && ofConversion.includes(error.code)
    const failure = isOfAnswer ? new Failure("INTERNAL", { cause: error }) : asUnreadable(error)
    if (failure === undefined) return undefined
    onForeignError(failure)
    return connectErrorOf(failure, requestId)
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
  return { ...response, body: rewriteEnds(body, type, trailer, replaced) }
}

/**
 * Returns the failure for an error of Connect if the error means that a request cannot be read: it ends within a message, or it is
 * too large, is compressed or does not have exactly one message.
 */
export function asUnreadable(error: unknown): Failure | undefined {
  if (!(error instanceof ConnectError)) return undefined
  const { code, rawMessage } = error
  if (code === Code.ResourceExhausted) {
    const [, bytes, limit] = tooLarge.exec(rawMessage) ?? []
    const size = bytes === undefined ? `more than ${limit} bytes` : `${bytes} bytes, the limit is ${limit}`
    const message = limit === undefined ? rawMessage : `the request has a message of ${size}`
    return new Failure("INVALID_FIELD", { cause: error, code, message })
  }
  if (code === Code.Unimplemented) {
    // Connect's message quotes the name of an unknown compression, which is arbitrary input.
    const isCount = rawMessage.startsWith("protocol error") || rawMessage === notOneMessage
    const message = isCount ? notOneMessage : unknownCompression
    return new Failure("INVALID_FIELD", { cause: error, code, message })
  }
  if (rawMessage === compressedEnvelope || rawMessage === flaggedMessage)
    return new Failure("INVALID_FIELD", { cause: error, code, message: flaggedMessage })
  if (!ofConversion.includes(code)) return undefined
  const known = problems.find(([beginning]) => beginning.test(rawMessage))
  return invalidField("request", known?.[1] ?? "cannot be read", error)
}

/** The codes of Connect's errors about a message that cannot be converted. */
const ofConversion = [Code.InvalidArgument, Code.Internal, Code.Unknown]

/** The beginnings of errors that do not depend on a field, and what is wrong. The rest of an error may quote the request. */
const problems: readonly (readonly [RegExp, string])[] = [
  [/^protocol error: (incomplete envelope|promised)/, "ends within a message"],
  [/^protocol error: invalid (connect|grpc) timeout/, "has a timeout that cannot be read"],
]

/** Connect's error for a compressed message of a request whose header names no compression. */
const compressedEnvelope = "received compressed envelope, but do not know how to decompress"
/** Connect's error for a message that is too large. */
const tooLarge = /^message size (?:(\d+) )?is larger than configured readMaxBytes (\d+)$/
const notOneMessage = "the request must have one message"

type Replace = (error: ConnectError | undefined) => ConnectError | undefined

// Not nested functions: as soon as a generator function is called, V8 gives it a map in the old generation. The map
// keeps everything that the function's closure can reach, such as a whole request, until the next major garbage
// collection.

async function* rewriteError(
  body: AsyncIterable<Uint8Array>,
  result: { status: number },
  replaced: Replace,
): AsyncIterable<Uint8Array> {
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  const bytes = Buffer.concat(chunks)
  const ours = replaced(errorFromJsonBytes(bytes, undefined, new ConnectError("", Code.Unknown)))
  // Connect's caller reads the status after the first bytes of the body.
  if (ours?.code === Code.InvalidArgument) result.status = 400
  if (ours?.code === Code.Internal) result.status = 500
  yield ours === undefined ? bytes : errorToJsonBytes(ours, undefined)
}

async function* rewriteEnds(
  body: AsyncIterable<Uint8Array>,
  type: string,
  trailer: Headers | undefined,
  replaced: Replace,
): AsyncIterable<Uint8Array> {
  for await (const chunk of body) yield rewriteEnd(chunk, type, replaced)
  if (trailer !== undefined) rewriteStatus(trailer, replaced)
}

/** Replaces an error of Connect in a trailer of gRPC. */
function rewriteStatus(trailer: Headers, replaced: Replace): void {
  const ours = replaced(findTrailerError(trailer))
  if (ours !== undefined) setTrailerStatus(trailer, ours)
  const message = trailer.get("grpc-message")
  // Connect also encodes a comma and a colon, which clients on grpc-js do not decode.
  if (message !== null) trailer.set("grpc-message", encodeURI(decodeURIComponent(message)))
}

// Connect streams and all gRPC-Web responses end with a special envelope: a flag, a length of four bytes, and the end
// data. It is not compressed, because the router is created without compressions.
function rewriteEnd(chunk: Uint8Array, type: string, replaced: Replace): Uint8Array {
  const [flags = 0] = chunk
  if (type.startsWith("application/grpc-web") && (flags & trailerFlag) !== 0) {
    const trailer = trailerParse(chunk.subarray(prefixBytes))
    rewriteStatus(trailer, replaced)
    return withPrefix(flags, trailerSerialize(trailer))
  }
  if (type.startsWith("application/connect+") && (flags & endStreamFlag) !== 0) {
    const { metadata, error } = endStreamFromJson(chunk.subarray(prefixBytes))
    const ours = replaced(error)
    return ours === undefined
      ? chunk
      : withPrefix(flags, Buffer.from(JSON.stringify(endStreamToJson(metadata, ours, undefined))))
  }
  return chunk
}
