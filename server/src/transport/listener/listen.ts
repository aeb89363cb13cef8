import type { Server, Socket } from "node:net"
import { StartError } from "../../errors/start-error.js"
import { type Address, formatAddress } from "../../util/address.js"
import { atMostEvery } from "../../util/at-most-every.js"
import type { ListenerOptions } from "./listener.js"

/** A port that accepts connections. */
interface OpenPort {
  /** The bound address, with the actual port if a free one was picked. */
  readonly address: Address
  /** Stops accepting connections. Open connections stay open. */
  stop(): void
  /** Resolves once every connection is closed. Connections that are still open after `graceMs` are destroyed. */
  closed(graceMs: number): Promise<void>
}

/** The shortest time between two log lines about rejected connections, in milliseconds. */
const fullLogMs = 10_000

/**
 * Lets a server listen at an address with at most `maxConnections` concurrent connections. `[::]` stands for all
 * addresses, of IPv4 and IPv6, or of IPv4 alone if the system has no IPv6. Rejects with the system's error (`code`
 * EADDRINUSE, EACCES, EADDRNOTAVAIL, ENOTFOUND).
 */
export async function listen(
  server: Server,
  {
    address,
    reusePort = false,
    maxConnections,
    log,
  }: Pick<ListenerOptions, "address" | "reusePort" | "maxConnections" | "log">,
): Promise<OpenPort> {
  server.maxConnections = maxConnections
  const once = atMostEvery(fullLogMs, () => performance.now())
  const facts = { address: formatAddress(address), max_connections: maxConnections }
  server.on("drop", () =>
    once("full", () => log.warn(facts, "closing new connections: the listener has reached its limit")),
  )
  const sockets = new Set<Socket>()
  let allClosed = () => {}
  server.on("connection", (socket: Socket) => {
    sockets.add(socket)
    socket.once("close", () => {
      sockets.delete(socket)
      if (sockets.size === 0) allClosed()
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject)
    // Without a host Node listens on `::`, and falls back to 0.0.0.0.
    const host = address.host === "::" ? {} : { host: address.host }
    server.listen({ port: address.port, reusePort, ...host }, () => {
      server.off("error", reject)
      resolve()
    })
  })
  const bound = server.address()
  const port = typeof bound === "object" && bound !== null ? bound.port : address.port
  return {
    address: { host: address.host, port },
    stop: () => void server.close(),
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

/** Converts the error of a listener that cannot listen into a StartError with advice. */
export function listenError(flag: string, address: Address, error: unknown, reusePort = false): unknown {
  const code = error instanceof Error && "code" in error ? String(error.code) : ""
  const text = formatAddress(address)
  const other = reusePort
    ? "is in use by a process that has no --reuse-port or belongs to another user: stop it, or choose another address"
    : "is in use by another process: stop it, or choose another address (port 0 picks a free one)"
  const advice: Record<string, string> = {
    EADDRINUSE: `${flag}: ${text} ${other}`,
    ENOTSUP: `${flag}: this system cannot share ports: --reuse-port needs Linux`,
    EACCES: `${flag}: no permission to listen on ${text}: choose a port of 1024 or higher`,
    EADDRNOTAVAIL: `${flag}: this machine has no address ${address.host}`,
    ENOTFOUND: `${flag}: the host name ${address.host} cannot be resolved`,
  }
  if (code === "") return error
  return new StartError(advice[code] ?? `${flag}: cannot listen on ${text} (${code})`, { cause: error })
}
