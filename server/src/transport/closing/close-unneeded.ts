import { constants, type ServerHttp2Session } from "node:http2"
import type { Socket } from "node:net"
import type { Connection } from "../limits/connection.js"
import { limits } from "../limits/limits.js"

/** How long a client may take to react to a GOAWAY before its socket is destroyed, in milliseconds. */
const goawayMs = 5_000

/** The highest possible stream id: a GOAWAY with it refuses no stream (RFC 9113, section 6.8). */
const lastStreamId = 2 ** 31 - 1

/**
 * Closes an HTTP/2 connection that has had no stream for `idleMs`, or whose client sends no valid key, with a GOAWAY.
 * The client may reconnect. A client without a valid key first gets a GOAWAY that refuses nothing, so that requests in
 * transit are answered. After the connection is closed, Node refuses further requests before they are processed.
 */
export function closeUnneeded(session: ServerHttp2Session, socket: Socket, known: Connection, idleMs: number): void {
  let streams = 0
  let timer: NodeJS.Timeout
  let isEnding = false
  const cut = () => {
    // A proxy may also have sent calls with a valid key over this connection.
    if (known.isKnown && streams > 0) timer = setTimeout(cut, goawayMs).unref()
    else socket.destroy()
  }
  const cutLater = () => {
    if (isEnding) return
    isEnding = true
    clearTimeout(timer)
    timer = setTimeout(cut, goawayMs).unref()
  }
  const close = () => {
    if (!session.closed) session.close()
    cutLater()
  }
  known.onReconnect = () => {
    if (known.ignoredReconnect) close()
    else if (!isEnding) session.goaway(constants.NGHTTP2_NO_ERROR, lastStreamId)
    cutLater()
  }
  const closeIdle = () => {
    if (streams === 0) close()
  }
  const wait = () => {
    // The streams of a closed connection end after it.
    if (isEnding || socket.destroyed) return
    clearTimeout(timer)
    timer = setTimeout(closeIdle, known.isKnown ? idleMs : Math.min(idleMs, limits.unauthenticatedIdleMs)).unref()
  }
  wait()
  session.on("stream", (stream) => {
    streams++
    stream.once("close", () => {
      streams--
      if (streams === 0) wait()
    })
  })
  socket.once("close", () => clearTimeout(timer))
}
