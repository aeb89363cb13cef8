import { connect } from "node:net"
import type { ConnectionOptions } from "mysql2"
import type { ServerLocation } from "./url.js"

/** What leads mysql2 to a server. A certificate is compared with its host, whichever of its addresses it has. */
export function connectionOptions(location: ServerLocation): ConnectionOptions {
  const { host, port, address, socketPath, username: user, password, database, ssl } = location
  return {
    ...{ host, port, user, password, database },
    ...(socketPath === undefined ? {} : { socketPath }),
    ...(ssl === undefined ? {} : { ssl }),
    ...(address === undefined
      ? {}
      : { stream: () => connect({ host: address, port, noDelay: true, keepAlive: true }) }),
  }
}
