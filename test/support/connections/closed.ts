import type { Socket } from "node:net"

/**
 * Waits until a socket is closed, also by a reset. A service that closes a connection resets it if there are bytes that it has not
 * read, which depends on their arrival, and `once(socket, "close")` fails then.
 */
export function closed(socket: Socket): Promise<void> {
  socket.on("error", () => {})
  return new Promise((resolve) => {
    if (socket.closed) resolve()
    else socket.once("close", () => resolve())
  })
}
