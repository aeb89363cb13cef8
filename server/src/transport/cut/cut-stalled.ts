import type { Server, Socket } from "node:net"
import { limits } from "../limits.js"

/**
 * Closes connections of a server whose clients take nothing of what waits for them: none of its writes was taken whole. What
 * waits over HTTP/2 does not show at the socket: its streams have a time of their own (see share.ts).
 *
 * @param ms how long a client may take nothing, in milliseconds; a quarter more at the most.
 * @param clock a clock for durations, in milliseconds.
 */
export function cutStalled(
  server: Server,
  ms: number = limits.socketMs,
  clock: () => number = () => performance.now(),
): void {
  /** Of each socket for which something waits: how much was taken, and since when no more is. */
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
  // With TLS what waits shows at the socket that speaks it.
  server.prependListener("connection", add)
  server.prependListener("secureConnection", add)
  server.once("close", () => clearInterval(timer))
}
