import http2, { type Http2Server, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2"
import { type Status, StatusSchema } from "@authwire/proto/rpc/status"
import { toBinary } from "@bufbuild/protobuf"
import { status as codes } from "@grpc/grpc-js"
import type { Method, Router } from "../../rpc/router.js"
import { closeWhenAnswered, endWhenReset } from "../cut/cut.js"

/** A stream for a known method, of which only the header was read. */
export interface GrpcStream {
  readonly stream: ServerHttp2Stream
  readonly headers: IncomingHttpHeaders
  /** Lets grpc-js read the request and write the answer. */
  serve(): void
}

/**
 * Handles HTTP/2 streams before grpc-js does. The state that grpc-js creates for a stream stays in memory as long as
 * the stream is open, and grpc-js reads the request of a unary call before it calls any handler. Here a rejected call
 * costs little more than its header, and it is answered at once.
 */
export function takeStreams(
  server: Http2Server,
  { services }: Router,
  onStream: (method: Method, stream: GrpcStream) => void,
  /** Called for each stream that is rejected because it is not for a method, is not gRPC or is compressed. */
  onRejected: (stream: ServerHttp2Stream) => void,
): void {
  const methods = new Map(
    services.flatMap(({ methods }) => methods).map((one) => [`/${one.desc.parent.typeName}/${one.desc.name}`, one]),
  )
  const serve = server.listeners("stream")
  server.removeAllListeners("stream")
  server.on("stream", (stream, headers, ...rest) => {
    stream.on("error", ignore)
    closeWhenAnswered(stream)
    endWhenReset(stream)
    stream.once("close", letGo)
    const method = methods.get(headers[":path"] ?? "")
    if (isGrpc(headers) && !isCompressed(headers) && method !== undefined) {
      const toGrpcJs = () => {
        for (const listener of serve) Reflect.apply(listener, server, [stream, headers, ...rest])
      }
      onStream(method, { stream, headers, serve: toGrpcJs })
      return
    }
    if (!isGrpc(headers)) end(stream, unsupported)
    // The error does not repeat the path, because it may contain anything, including a key.
    else endWithStatus(stream, method === undefined ? noSuchMethod : notDecompressed)
    onRejected(stream)
  })
}

/** Ends a stream with an error unless its headers were already sent. Any later answer is discarded. */
export function endWithStatus(stream: ServerHttp2Stream, status: Pick<Status, "code" | "message" | "details">): void {
  if (stream.headersSent) return
  end(stream, trailersOf(status as Status))
  // If grpc-js is still reading the request and cannot parse it, it answers too. A second `respond` would throw an
  // uncaught error.
  stream.respond = ignore
}

function end(stream: ServerHttp2Stream, headers: http2.OutgoingHttpHeaders): void {
  if (stream.closed || stream.destroyed) return
  stream.respond(headers, { endStream: true })
}

// An ended stream stays in memory until the next major garbage collection. Removing its listeners releases them and
// everything that their closures can reach.
function letGo(this: ServerHttp2Stream): void {
  this.removeAllListeners()
  this.on("error", ignore)
}

function ignore(): void {}

function isGrpc(headers: IncomingHttpHeaders): boolean {
  return headers["content-type"]?.startsWith("application/grpc") ?? false
}

/**
 * Whether the request is compressed. grpc-js decompresses every message, and nothing would limit that: a few kilobytes
 * can become megabytes.
 */
function isCompressed({ "grpc-encoding": encoding }: IncomingHttpHeaders): boolean {
  return encoding !== undefined && encoding !== "identity"
}

const noStore = { "cache-control": "no-store" }
export const onlyIdentity = { "grpc-accept-encoding": "identity" }
const unsupported = { ":status": http2.constants.HTTP_STATUS_UNSUPPORTED_MEDIA_TYPE, ...noStore }
const notDecompressed = { code: codes.UNIMPLEMENTED, message: "this compression is not supported", details: [] }
const noSuchMethod = { code: codes.UNIMPLEMENTED, message: "no such method", details: [] }

// Caches the encoded trailers by status, because many calls have the same error under a flood.
const known = new WeakMap<object, Record<string, string | number>>()

/** Returns the header block of an answer that consists only of an error. */
function trailersOf(status: Status): Record<string, string | number> {
  let trailers = known.get(status)
  if (trailers === undefined) {
    trailers = {
      ":status": 200,
      "content-type": "application/grpc+proto",
      ...noStore,
      ...onlyIdentity,
      "grpc-status": status.code,
      "grpc-message": encodeURI(status.message),
      ...(status.details.length > 0 && {
        "grpc-status-details-bin": Buffer.from(toBinary(StatusSchema, status)).toString("base64"),
      }),
    }
    known.set(status, trailers)
  }
  return trailers
}
