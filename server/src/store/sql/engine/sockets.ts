import type { Socket } from "node:net"

/** The sockets of a data source, including those that are still connecting. */
export interface Sockets {
  /** Tracks a socket until it is closed, and returns it. */
  add(socket: Socket): Socket
  destroyAll(): void
  /**
   * Waits for `asking`, which uses these sockets. After `ms` milliseconds they are destroyed, so that `asking` fails.
   * This is necessary because a driver limits the time to connect but not the time to wait for the first answers.
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
      // The timer repeats, because its first run may fall between two connections.
      const timer = setInterval(destroyAll, ms)
      try {
        return await asking
      } finally {
        clearInterval(timer)
      }
    },
  }
}
