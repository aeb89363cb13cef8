import type { ServerHttp2Session } from "node:http2"
import type { Socket } from "node:net"
import { limits } from "./limits.js"

/**
 * Closes a connection of HTTP/2 whose client does not answer a PING while it has streams open: it has gone without a word,
 * stands still, or does not read what it is told.
 *
 * @param ms how long it may take, and how often it gets one, in milliseconds.
 */
export function cutSilent(session: ServerHttp2Session, socket: Socket, ms: number = limits.pingMs): void {
  let streams = 0
  let isAsked = false
  const ask = () => {
    if (isAsked) socket.destroy()
    else if (streams > 0 && !session.destroyed) {
      isAsked = true
      session.ping(() => {
        isAsked = false
      })
    }
  }
  const timer = setInterval(ask, ms).unref()
  session.on("stream", (stream) => {
    streams++
    stream.once("close", () => streams--)
  })
  socket.once("close", () => clearInterval(timer))
}
