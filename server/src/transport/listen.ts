import { Server, type Socket } from "node:net"
import { type Address, formatAddress } from "./address.js"
import { cutStalled } from "./cut/cut-stalled.js"
import type { ListenerOptions } from "./transport.js"

/** A port that takes connections. */
export interface OpenPort {
  /** The address in use, with the port that was picked. */
  readonly address: Address
  /** Takes no more connections; those that are open stay. */
  stop(): void
  /** Resolves once every connection is closed; those still open after `graceMs` are cut. */
  closed(graceMs: number): Promise<void>
}

/** How often it is logged at the most that connections are turned away, in milliseconds. */
const fullLogMs = 10_000

/**
 * Lets a server listen at an address, for `maxConnections` at the same time. Rejects with the system's error (`code` EADDRINUSE, EACCES, EADDRNOTAVAIL,
 * ENOTFOUND).
 */
export async function listen(
  server: Server,
  { address, maxConnections, log }: Pick<ListenerOptions, "address" | "maxConnections" | "log">,
): Promise<OpenPort> {
  server.maxConnections = maxConnections
  // Or in a worker the primary of Node's cluster would offer it to the others, for ever if all are full. Node's types
  // do not know it yet.
  Object.assign(server, { dropMaxConnection: true })
  let loggedAt = Number.NEGATIVE_INFINITY
  server.on("drop", () => {
    if (performance.now() - loggedAt < fullLogMs) return
    loggedAt = performance.now()
    log.warn({ address: formatAddress(address), max_connections: maxConnections }, "turning connections away: too many")
  })
  cutStalled(server)
  const sockets = new Set<Socket>()
  let allClosed = () => {}
  server.prependListener("connection", (socket: Socket) => {
    sockets.add(socket)
    socket.once("close", () => {
      sockets.delete(socket)
      if (sockets.size === 0) allClosed()
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject)
    server.listen(address.port, address.host, () => {
      server.off("error", reject)
      resolve()
    })
  })
  const bound = server.address()
  const port = typeof bound === "object" && bound !== null ? bound.port : address.port
  return {
    address: { host: address.host, port },
    // That of net, also for a server of HTTP, whose own closes idle connections too.
    stop: () => Server.prototype.close.call(server),
    async closed(graceMs) {
      if (sockets.size === 0) return
      const timer = setTimeout(() => {
        for (const socket of sockets) socket.destroy()
      }, graceMs)
      await new Promise<void>((resolve) => {
        allClosed = resolve
      })
      clearTimeout(timer)
    },
  }
}
