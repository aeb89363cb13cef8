import http2, { type Http2Server, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2"
import { type Status, StatusSchema } from "@authwire/proto/rpc/status"
import { toBinary } from "@bufbuild/protobuf"
import { status as codes } from "@grpc/grpc-js"
import type { Method, Router } from "../../rpc/router.js"
import { closeWhenAnswered } from "../cut/cut.js"

/** A stream of a method, of which only the header was read. */
export interface GrpcStream {
  readonly stream: ServerHttp2Stream
  readonly headers: IncomingHttpHeaders
  /** Has grpc-js read the request and write the answer. */
  serve(): void
}

/**
 * Takes the streams of HTTP/2 before grpc-js does: what grpc-js makes of a stream stays in memory as long as the stream is
 * open, and it reads the request of a unary call before it tells anybody. So whoever may not make a call costs little more
 * than the header, and is told so at once.
 */
export function takeStreams(
  server: Http2Server,
  { services }: Router,
  onStream: (method: Method, stream: GrpcStream) => void,
  /** Hears of those that are for no method. */
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
    // A path may hold anything, a key too: it is not repeated.
    else endWithStatus(stream, method === undefined ? noSuchMethod : notDecompressed)
    onRejected(stream)
  })
}

/** Ends a stream with an error, if nothing was answered yet. Whatever is answered later goes nowhere. */
export function endWithStatus(stream: ServerHttp2Stream, status: Pick<Status, "code" | "message" | "details">): void {
  if (stream.headersSent) return
  end(stream, trailersOf(status as Status))
  // If grpc-js still reads the request, and cannot read it, it answers too: as that is not possible, it would throw where
  // nobody catches.
  stream.respond = ignore
}

function end(stream: ServerHttp2Stream, headers: http2.OutgoingHttpHeaders): void {
  if (stream.closed || stream.destroyed) return
  stream.respond(headers, { endStream: true })
}

// A stream that has ended stays in memory until the next large collection: not also what listened to it, nor what a
// listener made for this one stream could see.
function letGo(this: ServerHttp2Stream): void {
  this.removeAllListeners()
  this.on("error", ignore)
}

function ignore(): void {}

function isGrpc(headers: IncomingHttpHeaders): boolean {
  return headers["content-type"]?.startsWith("application/grpc") ?? false
}

/** A message of a few kilobytes can become one of megabytes, which nothing would count: grpc-js decompresses whatever comes. */
function isCompressed({ "grpc-encoding": encoding }: IncomingHttpHeaders): boolean {
  return encoding !== undefined && encoding !== "identity"
}

const noStore = { "cache-control": "no-store" }
export const onlyIdentity = { "grpc-accept-encoding": "identity" }
const unsupported = { ":status": http2.constants.HTTP_STATUS_UNSUPPORTED_MEDIA_TYPE, ...noStore }
const notDecompressed = { code: codes.UNIMPLEMENTED, message: "no such compression is taken here", details: [] }
const noSuchMethod = { code: codes.UNIMPLEMENTED, message: "no such method", details: [] }

// Under a flood many calls have the same error.
const known = new WeakMap<object, Record<string, string | number>>()

/** The one header of an answer that is an error only. */
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
