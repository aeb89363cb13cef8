import type { Server, Socket } from "node:net"
import { limits } from "../limits/limits.js"

/**
 * Closes connections whose clients accept nothing of the data that is queued for them: none of the writes was
 * completed. Data queued by HTTP/2 is not visible at the socket; its streams have their own timeout (see usage.ts).
 *
 * @param ms How long a client may make no progress, in milliseconds. Detection can take up to a quarter longer.
 * @param clock A clock for durations, in milliseconds.
 */
export function closeStalled(
  server: Server,
  ms: number = limits.socketMs,
  clock: () => number = () => performance.now(),
): void {
  /** For each socket with queued data: the bytes that were sent, and since when that number has not changed. */
  const stalled = new Map<Socket, { taken: number; since: number }>()
  const sockets = new Set<Socket>()
  const look = () => {
    const now = clock()
    for (const socket of sockets) {
      const { writableLength } = socket
      const taken = socket.bytesWritten - writableLength
      const known = stalled.get(socket)
      if (writableLength === 0) stalled.delete(socket)
      else if (known?.taken !== taken) stalled.set(socket, { taken, since: now })
      else if (now - known.since >= ms) socket.destroy()
    }
  }
  let timer: NodeJS.Timeout | undefined
  const add = (socket: Socket) => {
    timer ??= setInterval(look, ms / 4).unref()
    sockets.add(socket)
    socket.once("close", () => {
      sockets.delete(socket)
      stalled.delete(socket)
    })
  }
  // With TLS, queued data is visible at the TLS socket.
  server.prependListener("connection", add)
  server.prependListener("secureConnection", add)
  server.once("close", () => clearInterval(timer))
}
