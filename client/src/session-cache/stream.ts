import { FollowRequestSchema, FollowResponseSchema, SessionCacheService } from "@authwire/proto/slim"
import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import { Code, ConnectError } from "@connectrpc/connect"
import { type Client, type ClientDuplexStream, type Metadata, type StatusObject, status } from "@grpc/grpc-js"
import { identity, toBuffer, toConnectError } from "../transport/grpc-wire.js"
import type { FollowEvents, FollowRequest, FollowStream } from "./follower.js"

const path = `/${SessionCacheService.typeName}/${SessionCacheService.method.follow.name}`

/** The time that the service has to end a stream after the client has finished it, in milliseconds. */
const farewellMs = 1_000

/**
 * Opens a stream of SessionCacheService.Follow.
 *
 * @param client - The gRPC client of the stream. It is closed when the stream ends.
 */
export function openFollowStream(client: Client, metadata: Metadata, events: FollowEvents): FollowStream {
  const stream: ClientDuplexStream<Buffer, Buffer> = client.makeBidiStreamRequest(path, identity, identity, metadata)
  let isOver = false

  function over(error: ConnectError): void {
    if (isOver) return
    isOver = true
    client.close()
    events.ended(error)
  }

  stream.on("data", (bytes: Buffer) => {
    if (isOver) return
    try {
      events.message(fromBinary(FollowResponseSchema, bytes))
    } catch {
      stream.cancel()
      over(new ConnectError("the response is not one of the schema", Code.Internal))
    }
  })
  // The status event reports the same failure.
  stream.on("error", () => {})
  stream.on("status", (end: StatusObject) => {
    if (end.code === status.OK) over(new ConnectError("the service ended the stream", Code.Unavailable))
    else over(toConnectError(Object.assign(new Error(end.details), end)))
  })

  function send(request: FollowRequest): void {
    if (!isOver) stream.write(toBuffer(toBinary(FollowRequestSchema, create(FollowRequestSchema, request))))
  }

  return {
    send,
    finish() {
      send({ done: true })
      stream.end()
      // Otherwise a service that does not respond would keep the process alive.
      setTimeout(() => stream.cancel(), farewellMs).unref()
    },
    cancel: () => stream.cancel(),
  }
}
