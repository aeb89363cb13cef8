import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2"
import { Code } from "@connectrpc/connect"
import type { Method, Router } from "../../rpc/router.js"
import { closeWhenAnswered, endWhenReset } from "../closing/close-stream.js"
import { grpcTypes, mediaType, unknownCompression } from "../listener/content-type.js"
import { namesLoopback } from "../listener/loopback-names.js"
import { grpcTimeout } from "../listener/timeout.js"
import { endWithStatus } from "./answer.js"

/**
 * Returns a function for the streams of a connection, each with a listener for errors, that finds the method of each of them. A stream for no method, or
 * with a header that breaks gRPC's rules, is answered with an error.
 *
 * @param loopbackNames Whether only requests that name a loopback host are answered.
 */
export function streamRouter(
  { services }: Router,
  loopbackNames: boolean,
  onCall: (method: Method, stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void,
  onRejected: (stream: ServerHttp2Stream) => void,
): (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void {
  const methods = new Map(
    services.flatMap(({ methods }) => methods).map((one) => [`/${one.desc.parent.typeName}/${one.desc.name}`, one]),
  )
  return (stream, headers) => {
    // Its client has already reset it. It could not be answered, and nothing that waits for its end would end.
    if (stream.closed || stream.destroyed) {
      stream.destroy()
      return
    }
    closeWhenAnswered(stream)
    endWhenReset(stream)
    stream.once("close", letGo)
    if (loopbackNames && !namesLoopback(headers)) {
      stream.respond(foreign, { endStream: true })
      onRejected(stream)
      return
    }
    const method = methods.get(headers[":path"] ?? "")
    // A stream for HEAD has no side to write to, so no status could follow its header.
    if (headers[":method"] !== "POST") stream.respond(notPost, { endStream: true })
    else if (!isGrpc(headers)) stream.respond(unsupported, { endStream: true })
    // The error does not repeat the path, because it may contain anything, including a key.
    else if (method === undefined) endWithStatus(stream, noSuchMethod)
    else if (isCompressed(headers)) endWithStatus(stream, notDecompressed)
    else if (headers["grpc-timeout"] !== undefined && grpcTimeout(headers) === undefined) {
      endWithStatus(stream, invalidTimeout)
    } else {
      onCall(method, stream, headers)
      return
    }
    onRejected(stream)
  }
}

// An ended stream stays in memory until the next major garbage collection. Removing its listeners releases them and
// everything that their closures can reach. All of them are the listener's own: nobody else has the stream.
function letGo(this: ServerHttp2Stream): void {
  this.removeAllListeners()
  this.on("error", ignore)
}

/** A broken stream is the problem of its client. Without a listener the error would be an uncaught exception. */
export function ignore(): void {}

function isGrpc(headers: IncomingHttpHeaders): boolean {
  const type = mediaType(headers["content-type"])
  return type !== undefined && grpcTypes.includes(type)
}

function isCompressed({ "grpc-encoding": encoding }: IncomingHttpHeaders): boolean {
  return encoding !== undefined && encoding !== "identity"
}

const notPost = {
  ":status": constants.HTTP_STATUS_METHOD_NOT_ALLOWED,
  allow: "POST",
  "cache-control": "no-store",
}
const unsupported = { ":status": constants.HTTP_STATUS_UNSUPPORTED_MEDIA_TYPE, "cache-control": "no-store" }
const foreign = { ":status": constants.HTTP_STATUS_FORBIDDEN, "cache-control": "no-store" }
const notDecompressed = { code: Code.Unimplemented, message: unknownCompression, details: [] }
const noSuchMethod = { code: Code.Unimplemented, message: "no such method", details: [] }
const invalidTimeout = { code: Code.InvalidArgument, message: "grpc-timeout cannot be read", details: [] }
