import type { Socket } from "node:net"

/** The sockets of a data source, those included that are being connected. */
export interface Sockets {
  /** Knows a socket until it is closed, and returns it. */
  add(socket: Socket): Socket
  destroyAll(): void
  /**
   * Waits for something that asks over these sockets. After so many milliseconds they are destroyed, which makes it fail: a
   * driver limits how long it takes to connect, and waits for the answers to its first questions without end.
   */
  within<T>(ms: number, asking: Promise<T>): Promise<T>
}

export function sockets(): Sockets {
  const open = new Set<Socket>()
  const destroyAll = () => {
    for (const socket of open) socket.destroy()
  }
  return {
    add(socket) {
      open.add(socket)
      return socket.once("close", () => open.delete(socket))
    },
    destroyAll,
    async within(ms, asking) {
      // Again and again: the first time may come between two connections.
      const timer = setInterval(destroyAll, ms)
      try {
        return await asking
      } finally {
        clearInterval(timer)
      }
    },
  }
}
