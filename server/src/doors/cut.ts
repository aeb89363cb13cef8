import { constants, type Http2Stream } from "node:http2"

/** Ends a stream at once, with all that waits for its client. */
export function cut(stream: Http2Stream): void {
  stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM)
  // What waits to be sent is let go of now, not when the client has room for the reset.
  stream.destroy()
}

/**
 * Closes a stream when its answer is sent. A client that sends on is told to stop, or the stream would stay open for as
 * long as it likes.
 */
export function closeWhenAnswered(stream: Http2Stream): void {
  stream.once("finish", closeAnswered)
}

function closeAnswered(this: Http2Stream): void {
  if (!this.readableEnded) this.close()
}
