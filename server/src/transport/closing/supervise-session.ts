import { constants, type ServerHttp2Session } from "node:http2"
import type { Socket } from "node:net"
import { type PeerTimeout, peerTimeout } from "../../util/peer-timeout.js"
import type { Connection } from "../limits/connection.js"
import { limits } from "../limits/limits.js"
import { outliveStreams } from "./outlive-streams.js"

/** How long a client may take to react to a GOAWAY before its socket is destroyed, in milliseconds. */
const goawayMs = 5_000

/** The highest possible stream id: a GOAWAY with it refuses no stream (RFC 9113, section 6.8). */
const lastStreamId = 2 ** 31 - 1

/** The checks within the timeout of a PING. A single one could blame clients for a pause of the service. */
const checks = 2

export interface SessionTimeouts {
  /** The idle timeout of a connection without streams, in milliseconds. */
  idleMs: number
  /** The time to answer a PING, in milliseconds. Detection can take up to half as much longer. Default: `limits.pingMs`. */
  pingMs?: number
}

/**
 * Closes an HTTP/2 connection that is no longer needed, or whose client no longer answers.
 *
 * - A connection that has had no stream for `idleMs`, or whose client sends no valid key, gets a GOAWAY. The client may
 *   reconnect. A client without a valid key first gets a GOAWAY that refuses nothing, so that requests in transit are
 *   answered. After the connection is closed, Node refuses further requests before they are processed.
 * - A connection is closed if its client does not answer a PING while it has open streams, or after the last one. Such a
 *   client has disappeared without closing, is stalled, or does not read. After the last stream, megabytes of answers may
 *   still wait in the socket buffer of the operating system, where this process cannot see them.
 */
export function superviseSession(
  session: ServerHttp2Session,
  socket: Socket,
  connection: Connection,
  { idleMs, pingMs = limits.pingMs }: SessionTimeouts,
): void {
  // A broken connection is the client's problem. Without a listener the error would be an uncaught exception.
  session.on("error", () => {})
  // HTTP/1.1 answers a client that has closed its sending side. For HTTP/2 that is the end of the connection.
  socket.allowHalfOpen = false
  outliveStreams(session)

  let streams = 0
  /** The timeout of the idle connection, or of the client's reaction to a GOAWAY. */
  let timeout: PeerTimeout | undefined
  let isEnding = false
  /** Whether there was a stream since the last PING was sent. The client answers a PING after it has read what was sent before. */
  let isPingDue = false
  /** The number of checks since the PING was sent; undefined if none is outstanding. */
  let checked: number | undefined

  const waitForStream = () => {
    // The streams of a closed connection end after it.
    if (isEnding || socket.destroyed) return
    timeout?.clear()
    const ms = connection.isKnown ? idleMs : Math.min(idleMs, limits.unauthenticatedIdleMs)
    timeout = peerTimeout(ms, () => streams === 0 && close())
  }
  const close = () => {
    if (!session.closed) session.close()
    destroyLater()
  }
  const destroyLater = () => {
    if (isEnding) return
    isEnding = true
    timeout?.clear()
    timeout = peerTimeout(goawayMs, destroy)
  }
  const destroy = () => {
    // A proxy may also have sent calls with a valid key over this connection.
    if (connection.isKnown && streams > 0) timeout = peerTimeout(goawayMs, destroy)
    else socket.destroy()
  }
  connection.onReconnect = () => {
    // A session that has failed still emits the streams that it had read.
    if (session.destroyed) return
    // Nothing is left to be answered. Node creates the streams of what it has read until the session is destroyed.
    if (connection.ignoredReconnect && streams === 0) session.destroy()
    else if (connection.ignoredReconnect) close()
    else if (!isEnding) session.goaway(constants.NGHTTP2_NO_ERROR, lastStreamId)
    destroyLater()
  }

  // Sent before any answer, so that the client has it when its first streams end.
  connection.onKnown = () => {
    if (!session.closed && !session.destroyed) session.settings({ maxConcurrentStreams: limits.maxConcurrentStreams })
  }

  const checkPing = () => {
    if (checked !== undefined) {
      checked++
      if (checked >= checks) socket.destroy()
    } else if (isPingDue && !session.destroyed) {
      isPingDue = streams > 0
      checked = 0
      session.ping((error) => {
        // A PING that cannot be sent fails at once. It is not an answer: the client may have disconnected unnoticed.
        if (error === null) checked = undefined
      })
    }
  }
  const pings = setInterval(checkPing, pingMs / checks).unref()

  session.on("stream", (stream) => {
    // Its client has reset it, perhaps in the bytes that began it. No limit of open streams counts it.
    if (stream.closed) connection.countUnauthenticated()
    streams++
    isPingDue = true
    stream.once("close", () => {
      streams--
      isPingDue = true
      if (streams === 0) waitForStream()
    })
  })
  socket.once("close", () => {
    timeout?.clear()
    clearInterval(pings)
  })
  waitForStream()
}
