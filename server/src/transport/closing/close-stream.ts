import { constants, type Http2Session, type Http2Stream } from "node:http2"
import { peerTimeout } from "../../util/peer-timeout.js"
import { limits } from "../limits/limits.js"

/** Aborts a stream at once and discards everything that is queued for its client. */
export function cut(stream: Http2Stream): void {
  stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM)
  // Releases the queued data now. Otherwise it would stay until the client has space for the reset.
  stream.destroy()
}

/**
 * Closes a stream soon after its answer was sent if its client is still sending. Otherwise the stream would stay open
 * for as long as the client likes. Data that arrives until then is read and discarded. For a rejected call only a
 * little is read.
 */
export function closeWhenAnswered(stream: Http2Stream): void {
  stream.once("wantTrailers", closeSoon)
  stream.once("finish", closeAfterHeaders)
}

// "finish" comes before the trailers, if there are any. In that case a second listener for "wantTrailers" exists, which
// sends them.
function closeAfterHeaders(this: Http2Stream): void {
  if (this.sentTrailers === undefined && this.listenerCount("wantTrailers") <= 1) closeSoon.call(this)
}

// The end of the request may directly follow its header and be read in the same turn of the event loop.
function closeSoon(this: Http2Stream): void {
  if (this.readableEnded) return
  // Otherwise Node closes a stream at once if its request was not read.
  this.pause()
  setImmediate(linger, this)
}

/** Ends a stream when its client resets it. With the code NO_ERROR Node would wait for ever. */
export function endWhenReset(stream: Http2Stream): void {
  stream.once("aborted", destroySoon)
}

// Node emits "aborted" in the middle of its own work on the stream.
function destroySoon(this: Http2Stream): void {
  process.nextTick(destroy, this)
}

function destroy(stream: Http2Stream): void {
  stream.destroy()
}

const admitted = new WeakSet<object>()

/**
 * Lets the client of an admitted stream send the rest of its request for a moment if the call is answered early. Each
 * stream that is reset while a Node client sends leaves the client less memory for the other streams of its connection.
 */
export function markAdmitted(stream: object): void {
  admitted.add(stream)
}

/** Returns whether a stream, or an HTTP/1.1 response, belongs to an admitted call. */
export function isAdmitted(stream: object): boolean {
  return admitted.has(stream)
}

const lingering = new WeakMap<Http2Session, { streams: number }>()

// The stream is not closed at once, because a reset would replace headers that HTTP/2 has not sent yet. The rest of the
// request is read, with the data that has already arrived: Node permanently counts unread data against the memory of the
// connection, and a stream with unread data never ends, even if it is closed and its connection too.
function linger(stream: Http2Stream): void {
  const { session } = stream
  stream.resume()
  // The request is complete.
  if (session === undefined || stream.destroyed || stream.readableEnded || stream.state.remoteClose === 1) return
  const count = lingering.get(session) ?? { streams: 0 }
  lingering.set(session, count)
  if (count.streams >= limits.lingeringStreams) {
    stream.close()
    return
  }
  count.streams++
  let left: number = isAdmitted(stream) ? Number.POSITIVE_INFINITY : limits.lingerBytes
  stream.on("data", (chunk: Buffer) => {
    left -= chunk.length + limits.chunkBytes
    // Closing the stream at once could lose a status that HTTP/2 has not sent yet.
    if (left < 0 && !stream.closed) stream.pause()
  })
  const end = () => {
    stream.close()
    stream.resume()
  }
  const timeout = peerTimeout(limits.lingerMs, end)
  stream.once("close", () => {
    count.streams--
    timeout.clear()
  })
}
