import type { Http2Session, Http2Stream } from "node:http2"
import { limits } from "./limits.js"

/** Streams that a connection may open at the same time while calls that come over it are refused, beside lasting ones. */
const narrowStreams = 8
/** For how long after the last of them, in milliseconds. */
const narrowMs = 1_000

const narrowed = new WeakMap<Http2Session, NodeJS.Timeout>()
const lasting = new WeakMap<Http2Session, { count: number }>()

/** Counts a stream that may be open for hours, such as a pipeline: it leaves as much room for others. */
export function noteLasting(stream: Http2Stream): void {
  const { session } = stream
  if (session === undefined) return
  const streams = lasting.get(session) ?? { count: 0 }
  lasting.set(session, streams)
  streams.count++
  stream.once("close", () => streams.count--)
}

/**
 * Lets the connection of a stream that is refused open few streams for a while: what it does not open waits at the client,
 * where it costs nobody anything. Streams that are open stay. A client that opens more all the same, or has not heard of
 * it yet, is told REFUSED_STREAM by HTTP/2 itself.
 */
export function narrow({ session }: Pick<Http2Stream, "session">): void {
  if (session === undefined) return
  const timer = narrowed.get(session)
  if (timer !== undefined) timer.refresh()
  else if (set(session, narrowStreams + (lasting.get(session)?.count ?? 0))) {
    const widen = () => {
      if (session.destroyed || set(session, limits.maxConcurrentStreams)) narrowed.delete(session)
      else narrowed.get(session)?.refresh()
    }
    narrowed.set(session, setTimeout(widen, narrowMs).unref())
  }
}

/** False if the client has not acknowledged the last settings yet: there may only be so many of them. */
function set(session: Http2Session, maxConcurrentStreams: number): boolean {
  if (session.destroyed || session.pendingSettingsAck) return false
  session.settings({ maxConcurrentStreams: Math.min(maxConcurrentStreams, limits.maxConcurrentStreams) })
  return true
}
