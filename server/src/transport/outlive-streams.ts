import type { ServerHttp2Session, ServerHttp2Stream } from "node:http2"

/**
 * The property of a stream that holds an object shared by all streams of its connection. Only those streams refer to
 * the object.
 */
const ofConnection = Symbol("streams of one connection")

const kept = new FinalizationRegistry<object>(() => {})

/**
 * Keeps Node's native handle of an HTTP/2 connection alive until all of its streams are garbage-collected.
 *
 * A stream that is destroyed while the socket accepts none of its answer is left to the garbage collector, together
 * with the part of its trailers that was received. If the connection is collected first, Node 24 ends the process
 * (`~Http2Session: current_nghttp2_memory_ == 0`), and a client can cause that. If Node keeps the handle under another
 * name, this function does nothing.
 */
export function outliveStreams(session: ServerHttp2Session): void {
  const handle = handleOf(session)
  if (handle === undefined) return
  const streams = {}
  // The registry holds the handle until `streams` is collected, which happens when no stream refers to it any more.
  kept.register(streams, handle)
  const mark = (stream: ServerHttp2Stream) => Object.assign(stream, { [ofConnection]: streams })
  session.on("stream", mark)
  // The handle refers to the session. If the listener stayed, neither could ever be collected.
  session.once("close", () => session.off("stream", mark))
}

function handleOf(session: ServerHttp2Session): object | undefined {
  const symbol = Object.getOwnPropertySymbols(session).find(({ description }) => description === "kHandle")
  const handle: unknown = symbol && Reflect.get(session, symbol)
  return typeof handle === "object" && handle !== null ? handle : undefined
}
