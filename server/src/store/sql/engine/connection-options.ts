import { Socket } from "node:net"
import type { ConnectionOptions, SslOptions } from "mysql2"
import { ed25519 } from "./ed25519.js"
import type { Sockets } from "./sockets.js"
import type { ServerLocation } from "./url/url.js"

/**
 * Returns mysql2's options to connect to a server. A certificate is compared with the host, whichever of its addresses
 * is used.
 */
export function connectionOptions(location: ServerLocation, sockets?: Sockets): ConnectionOptions {
  const { host, port, address = host, socketPath, username: user, password, database, readPassword } = location
  const ssl = sslOptions(location)
  const connect = (socket: Socket) => {
    const options = { noDelay: true, keepAlive: true }
    if (socketPath === undefined) socket.connect({ ...options, host: address, port })
    else socket.connect({ ...options, path: socketPath })
  }
  // mysql2 has no option for a password that changes. But it calls this function with the options of each connection,
  // and uses the password when the server has answered.
  const stream = ({ config }: { config: ConnectionOptions }) => {
    const socket = new Socket()
    if (readPassword === undefined) connect(socket)
    else {
      const connectWith = (password: string) => {
        config.password = password
        // A destroyed socket would be opened again.
        if (!socket.destroyed) connect(socket)
      }
      readPassword().then(connectWith, (error) => socket.destroy(error))
    }
    return sockets?.add(socket) ?? socket
  }
  const authPlugins = { client_ed25519: ed25519 }
  const common = {
    host,
    port,
    user,
    password,
    database,
    stream,
    authPlugins,
    enableCleartextPlugin: isVerified(location),
  }
  return { ...common, ...(ssl === undefined ? {} : { ssl }) }
}

/** Whether the password may be sent as it is: tokens of cloud providers are checked so by the server. */
function isVerified({ tls: { level } }: ServerLocation): boolean {
  return level === "authority" || level === "identity"
}

/** Returns the driver's options of TLS; undefined without encryption. */
export function sslOptions({ tls: { level, options } }: ServerLocation): SslOptions | undefined {
  if (options === undefined) return undefined
  const { checkServerIdentity: _, ...ssl } = options
  return { ...ssl, verifyIdentity: level === "identity" } as SslOptions
}
