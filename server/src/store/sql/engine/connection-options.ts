import { connect } from "node:net"
import type { ConnectionOptions, SslOptions } from "mysql2"
import type { Sockets } from "./sockets.js"
import type { ServerLocation } from "./url/url.js"

/**
 * Returns mysql2's options to connect to a server. A certificate is compared with the host, whichever of its addresses
 * is used.
 */
export function connectionOptions(location: ServerLocation, sockets?: Sockets): ConnectionOptions {
  const { host, port, address = host, socketPath, username: user, password, database } = location
  const ssl = sslOptions(location)
  const endpoint = socketPath === undefined ? { host: address, port } : { path: socketPath }
  const stream = () => {
    const socket = connect({ ...endpoint, noDelay: true, keepAlive: true })
    return sockets?.add(socket) ?? socket
  }
  return { ...{ host, port, user, password, database, stream }, ...(ssl === undefined ? {} : { ssl }) }
}

/** Returns the driver's options of TLS; undefined without encryption. */
export function sslOptions({ tls: { level, options } }: ServerLocation): SslOptions | undefined {
  if (options === undefined) return undefined
  const { checkServerIdentity: _, ...ssl } = options
  return { ...ssl, verifyIdentity: level === "identity" } as SslOptions
}
