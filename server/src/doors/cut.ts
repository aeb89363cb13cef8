import { constants, type Http2Session, type Http2Stream } from "node:http2"
import { limits } from "./limits.js"

/** Ends a stream at once, with all that waits for its client. */
export function cut(stream: Http2Stream): void {
  stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM)
  // What waits to be sent is let go of now, not when the client has room for the reset.
  stream.destroy()
}

/**
 * Closes a stream soon after its answer was sent, if its client sends on: or it would stay open for as long as the client
 * likes. Until then what comes is thrown away, which lets most clients come to their own end.
 */
export function closeWhenAnswered(stream: Http2Stream): void {
  stream.once("wantTrailers", closeSoon)
  stream.once("finish", closeAfterHeaders)
}

// It comes before the trailers do, where there are any: then somebody listens beside us who will send them.
function closeAfterHeaders(this: Http2Stream): void {
  if (this.sentTrailers === undefined && this.listenerCount("wantTrailers") <= 1) closeSoon.call(this)
}

const lingering = new WeakMap<Http2Session, { streams: number }>()

// Not at once: a reset takes the place of headers that HTTP/2 has not sent yet.
function closeSoon(this: Http2Stream): void {
  const { session } = this
  if (session === undefined || this.readableEnded || this.state.remoteClose === 1) {
    this.resume()
    return
  }
  const count = lingering.get(session) ?? { streams: 0 }
  lingering.set(session, count)
  if (count.streams >= limits.lingeringStreams) {
    this.close()
    return
  }
  count.streams++
  this.resume()
  const timer = setTimeout(() => this.close(), limits.lingerMs)
  this.once("close", () => {
    count.streams--
    clearTimeout(timer)
  })
}
