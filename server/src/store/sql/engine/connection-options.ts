import { connect } from "node:net"
import type { ConnectionOptions } from "mysql2"
import type { Sockets } from "./sockets.js"
import type { ServerLocation } from "./url.js"

/**
 * Returns mysql2's options to connect to a server. A certificate is compared with the host, whichever of its addresses
 * is used.
 */
export function connectionOptions(location: ServerLocation, sockets?: Sockets): ConnectionOptions {
  const { host, port, address = host, socketPath, username: user, password, database, ssl } = location
  const endpoint = socketPath === undefined ? { host: address, port } : { path: socketPath }
  const stream = () => {
    const socket = connect({ ...endpoint, noDelay: true, keepAlive: true })
    return sockets?.add(socket) ?? socket
  }
  return { ...{ host, port, user, password, database, stream }, ...(ssl === undefined ? {} : { ssl }) }
}
