import { connect } from "node:net"
import type { ConnectionOptions } from "mysql2"
import type { Sockets } from "./sockets.js"
import type { ServerLocation } from "./url.js"

/** What leads mysql2 to a server. A certificate is compared with its host, whichever of its addresses it has. */
export function connectionOptions(location: ServerLocation, sockets?: Sockets): ConnectionOptions {
  const { host, port, address = host, socketPath, username: user, password, database, ssl } = location
  const place = socketPath === undefined ? { host: address, port } : { path: socketPath }
  const stream = () => {
    const socket = connect({ ...place, noDelay: true, keepAlive: true })
    return sockets?.add(socket) ?? socket
  }
  return { ...{ host, port, user, password, database, stream }, ...(ssl === undefined ? {} : { ssl }) }
}
