import type { Http2Server, IncomingHttpHeaders, ServerHttp2Stream } from "node:http2"
import { type Status, StatusSchema } from "@authwire/proto/rpc/status"
import { toBinary } from "@bufbuild/protobuf"
import type { Dispatch } from "../dispatch/dispatch.js"
import { narrow, noteLasting } from "./narrow.js"

/**
 * Refuses calls that there is no room for before grpc-js hears of them: what it makes of a call costs several times as
 * much as to refuse it, and stays in memory while the call waits to be refused.
 */
export function refuseEarly(server: Http2Server, { services }: Dispatch): void {
  const methods = new Map(
    services.flatMap(({ methods }) => methods).map((one) => [`/${one.desc.parent.typeName}/${one.desc.name}`, one]),
  )
  const serve = server.listeners("stream")
  server.removeAllListeners("stream")
  server.on("stream", (stream, headers, ...rest) => {
    stream.once("close", letGo)
    const method = isGrpc(headers) ? methods.get(headers[":path"] ?? "") : undefined
    if (method !== undefined && method.desc.methodKind !== "unary") noteLasting(stream)
    const noRoom = method?.noRoom()
    if (method !== undefined && noRoom !== undefined) {
      narrow(stream)
      const error = () => method.refuse("grpc", headers["x-request-id"]?.toString())
      refuse(stream, noRoom, error).catch(() => stream.destroy())
    } else for (const listener of serve) Reflect.apply(listener, server, [stream, headers, ...rest])
  })
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

async function refuse(stream: ServerHttp2Stream, pause: Promise<void>, error: () => Status): Promise<void> {
  // The client has gone: there is nobody to tell.
  stream.on("error", ignore)
  // Nobody reads the request, but the client may want to send all of it.
  stream.resume()
  await pause
  const status = error()
  if (stream.closed || stream.destroyed) return
  stream.respond(trailersOf(status), { endStream: true })
  stream.close()
}

// Under a flood many calls have the same error.
const known = new WeakMap<Status, Record<string, string | number>>()

/** The one header of an answer that is an error only. */
function trailersOf(status: Status): Record<string, string | number> {
  let trailers = known.get(status)
  if (trailers === undefined) {
    trailers = {
      ":status": 200,
      "content-type": "application/grpc+proto",
      "grpc-status": status.code,
      "grpc-message": encodeURI(status.message),
      "grpc-status-details-bin": Buffer.from(toBinary(StatusSchema, status)).toString("base64"),
    }
    known.set(status, trailers)
  }
  return trailers
}
