import type { ServerHttp2Session } from "node:http2"
import type { Socket } from "node:net"
import { limits } from "../limits.js"

/** How often is looked within that time. A service that stands still itself must not blame its clients: it looks again. */
const looks = 2

/**
 * Closes a connection of HTTP/2 whose client does not answer a PING while it has streams open: it has gone without a word,
 * stands still, or does not read what it is told.
 *
 * @param ms how long it may take, in milliseconds; half as much more at the most.
 */
export function cutSilent(session: ServerHttp2Session, socket: Socket, ms: number = limits.pingMs): void {
  let streams = 0
  /** How often was looked since the PING; undefined if there is none to be answered. */
  let looked: number | undefined
  const look = () => {
    if (looked !== undefined) {
      looked++
      if (looked >= looks) socket.destroy()
    } else if (streams > 0 && !session.destroyed) {
      looked = 0
      session.ping(() => {
        looked = undefined
      })
    }
  }
  const timer = setInterval(look, ms / looks).unref()
  session.on("stream", (stream) => {
    streams++
    stream.once("close", () => streams--)
  })
  socket.once("close", () => clearInterval(timer))
}
