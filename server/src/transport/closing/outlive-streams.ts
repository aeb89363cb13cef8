import { executionAsyncResource } from "node:async_hooks"
import type { ServerHttp2Session, ServerHttp2Stream } from "node:http2"

/** Refers from a stream to an object that all streams of its connection usage. Nothing else refers to that object. */
const sharedBy = new WeakMap<ServerHttp2Stream, object>()

const kept = new FinalizationRegistry<object>(() => {})

/**
 * Keeps Node's native part of an HTTP/2 connection alive until all of its streams are garbage-collected.
 *
 * A stream that is destroyed while the socket accepts none of its answer is left to the garbage collector, together
 * with the part of its trailers that was received. If the connection is collected first, Node 24 ends the process
 * (`~Http2Session: current_nghttp2_memory_ == 0`), and a client can cause that. The native part is the resource of
 * every callback of the connection. The first of them reports the client's settings, which precede all streams.
 */
export function outliveStreams(session: ServerHttp2Session): void {
  const shared = {}
  // The registry holds the resource until no stream refers to `shared` any more.
  session.once("remoteSettings", () => kept.register(shared, executionAsyncResource()))
  const mark = (stream: ServerHttp2Stream) => sharedBy.set(stream, shared)
  session.on("stream", mark)
  // The resource refers to the session. If the listener stayed, neither could ever be collected.
  session.once("close", () => session.off("stream", mark))
}
