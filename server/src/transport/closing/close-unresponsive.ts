import type { ServerHttp2Session } from "node:http2"
import type { Socket } from "node:net"
import { limits } from "../limits/limits.js"

/**
 * The number of checks within the timeout. A single check could blame clients for a pause of the service itself, so it
 * checks again.
 */
const looks = 2

/**
 * Closes an HTTP/2 connection whose client does not answer a PING while it has open streams, or after the last one. Such
 * a client has disappeared without closing, is stalled, or does not read. After the last stream, megabytes of answers
 * may still wait in the socket buffer of the operating system, where this process cannot see them.
 *
 * @param ms The time to answer, in milliseconds. Detection can take up to half as much longer.
 */
export function closeUnresponsive(session: ServerHttp2Session, socket: Socket, ms: number = limits.pingMs): void {
  let streams = 0
  /** Whether there was a stream since the last PING was sent. The client answers a PING after it has read what was sent before. */
  let isPingDue = false
  /** The number of checks since the PING was sent; undefined if none is outstanding. */
  let looked: number | undefined
  const look = () => {
    if (looked !== undefined) {
      looked++
      if (looked >= looks) socket.destroy()
    } else if (isPingDue && !session.destroyed) {
      isPingDue = streams > 0
      looked = 0
      session.ping((error) => {
        // A PING that cannot be sent fails at once. It is not an answer: the client may have disconnected unnoticed.
        if (error === null) looked = undefined
      })
    }
  }
  const timer = setInterval(look, ms / looks).unref()
  session.on("stream", (stream) => {
    streams++
    isPingDue = true
    stream.once("close", () => {
      streams--
      isPingDue = true
    })
  })
  socket.once("close", () => clearInterval(timer))
}
