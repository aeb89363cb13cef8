import { constants, type Http2Session, type Http2Stream } from "node:http2"
import { limits } from "../limits.js"

/** Ends a stream at once, with all that waits for its client. */
export function cut(stream: Http2Stream): void {
  stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM)
  // What waits to be sent is let go of now, not when the client has space for the reset.
  stream.destroy()
}

/**
 * Closes a stream soon after its answer was sent, if its client has more to send: or it would stay open for as long as the
 * client likes. What comes until then is read and thrown away; of a call that was rejected, only a little.
 */
export function closeWhenAnswered(stream: Http2Stream): void {
  stream.once("wantTrailers", closeSoon)
  stream.once("finish", closeAfterHeaders)
}

// It comes before the trailers do, where there are any: then somebody listens beside us who will send them.
function closeAfterHeaders(this: Http2Stream): void {
  if (this.sentTrailers === undefined && this.listenerCount("wantTrailers") <= 1) closeSoon.call(this)
}

// The end of the request may stand right behind its header, and be read in this same turn of the event loop.
function closeSoon(this: Http2Stream): void {
  if (this.readableEnded) return
  // Node closes at once what nobody has begun to read.
  this.pause()
  setImmediate(linger, this)
}

const admitted = new WeakSet<object>()

/**
 * Lets the client of a stream that was let in send the rest of its request for a moment, when it is answered early. A
 * client of Node whose streams are reset while it sends has less and less memory for the others of its connection.
 */
export function letFinish(stream: object): void {
  admitted.add(stream)
}

/** Whether a stream, or a response of HTTP/1.1, was let in. */
export function mayFinish(stream: object): boolean {
  return admitted.has(stream)
}

const lingering = new WeakMap<Http2Session, { streams: number }>()

// Not closed at once: a reset takes the place of headers that HTTP/2 has not sent yet.
function linger(stream: Http2Stream): void {
  const { session } = stream
  if (session === undefined || stream.destroyed || stream.readableEnded || stream.state.remoteClose === 1) {
    // All is there: what nobody has read is thrown away, so that the stream comes to its end.
    stream.resume()
    return
  }
  const count = lingering.get(session) ?? { streams: 0 }
  lingering.set(session, count)
  // What has come is read in any case: Node counts what nobody reads against the memory of the connection, for good.
  stream.resume()
  if (count.streams >= limits.lingeringStreams) {
    stream.close()
    return
  }
  count.streams++
  let left: number = mayFinish(stream) ? Number.POSITIVE_INFINITY : limits.lingerBytes
  stream.on("data", (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0) stream.close()
  })
  const timer = setTimeout(() => stream.close(), limits.lingerMs)
  stream.once("close", () => {
    count.streams--
    clearTimeout(timer)
  })
}
