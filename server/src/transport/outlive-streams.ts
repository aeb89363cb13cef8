import type { ServerHttp2Session, ServerHttp2Stream } from "node:http2"

/** What every stream of a connection refers to, and nothing else does. */
const ofConnection = Symbol("streams of one connection")

const kept = new FinalizationRegistry<object>(() => {})

/**
 * Keeps what Node itself has of a connection of HTTP/2 until all of its streams are collected.
 *
 * A stream that is destroyed while the socket takes nothing of its answer is left to the garbage collector, with the part
 * of its trailers that was received. Node 24 ends the process (`~Http2Session: current_nghttp2_memory_ == 0`) if the
 * connection is collected first, and a client can bring that about. Where Node keeps the connection elsewhere, this does
 * nothing.
 */
export function outliveStreams(session: ServerHttp2Session): void {
  const handle = handleOf(session)
  if (handle === undefined) return
  const streams = {}
  // Holds the handle until the object is collected, which is when none of the streams is left.
  kept.register(streams, handle)
  const mark = (stream: ServerHttp2Stream) => Object.assign(stream, { [ofConnection]: streams })
  session.on("stream", mark)
  // The handle has the session: with the listener neither would ever be collected.
  session.once("close", () => session.off("stream", mark))
}

function handleOf(session: ServerHttp2Session): object | undefined {
  const symbol = Object.getOwnPropertySymbols(session).find(({ description }) => description === "kHandle")
  const handle: unknown = symbol && Reflect.get(session, symbol)
  return typeof handle === "object" && handle !== null ? handle : undefined
}
