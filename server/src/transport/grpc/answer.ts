import type { ServerHttp2Stream } from "node:http2"
import { type Status, StatusSchema } from "@authwire/proto/rpc/status"
import { create } from "@bufbuild/protobuf"
import { encodeBinaryHeader } from "@connectrpc/connect"
import type { AnswerMetadata } from "../../rpc/call.js"
import { withPrefix } from "../listener/prefix.js"

type SentStatus = Pick<Status, "code" | "message" | "details">

// No cache between the client and the service may store an answer, and clients should not compress their requests.
const header = {
  ":status": 200,
  "content-type": "application/grpc+proto",
  "cache-control": "no-store",
  "grpc-accept-encoding": "identity",
}

const waitForTrailers = { waitForTrailers: true }

/** Sends the header of an answer, unless it was sent. */
export function sendHeader(stream: ServerHttp2Stream, metadata?: AnswerMetadata): void {
  if (isOver(stream) || stream.headersSent) return
  stream.respond(
    metadata === undefined ? header : { ...header, ...Object.fromEntries(metadata.header) },
    waitForTrailers,
  )
}

/** Sends a message. Resolves when the client has received it, or never can. */
export function sendMessage(stream: ServerHttp2Stream, message: Uint8Array, metadata?: AnswerMetadata): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  if (isOver(stream)) resolve()
  else {
    sendHeader(stream, metadata)
    stream.write(withPrefix(0, message), () => resolve())
  }
  return promise
}

/** Sends the only message of an answer, and the status OK. */
export function endWithAnswer(stream: ServerHttp2Stream, message: Uint8Array): void {
  if (isOver(stream)) return
  sendHeader(stream)
  stream.once("wantTrailers", sendOk)
  stream.end(withPrefix(0, message))
}

/** Ends a stream with a status, after the messages that were sent. */
export function endWithStatus(stream: ServerHttp2Stream, status: SentStatus, metadata?: AnswerMetadata): void {
  if (isOver(stream)) return
  const trailers = trailersOf(status)
  if (metadata !== undefined) {
    sendHeader(stream, metadata)
    Object.assign(trailers, Object.fromEntries(metadata.trailer))
  }
  if (!stream.headersSent) {
    stream.respond({ ...header, ...trailers }, { endStream: true })
    return
  }
  stream.once("wantTrailers", () => stream.sendTrailers(trailers))
  stream.end()
}

function isOver(stream: ServerHttp2Stream): boolean {
  return stream.closed || stream.destroyed || stream.writableEnded
}

function sendOk(this: ServerHttp2Stream): void {
  this.sendTrailers({ "grpc-status": 0 })
}

/** Returns the fields in which gRPC sends a status. */
export function trailersOf({ code, message, details }: SentStatus): Record<string, string> {
  return {
    "grpc-status": String(code),
    ...(message !== "" && { "grpc-message": encodeURI(message.toWellFormed()) }),
    ...(details.length > 0 && {
      "grpc-status-details-bin": encodeBinaryHeader(create(StatusSchema, { code, message, details }), StatusSchema),
    }),
  }
}
