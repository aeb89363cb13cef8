import { once } from "node:events"
import { connect, type Socket } from "node:net"
import { peerSignal } from "../../../../util/peer-timeout.js"
import type { DatabaseLocation } from "./url.js"

/** PostgreSQL's request for encryption, which the server answers with one byte, `S` or `N`. */
const sslRequest = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f])
/** The capability flag of MySQL's handshake for encryption. */
const clientSsl = 0x0800

/**
 * Returns the location with a decision whether its connections are encrypted, if its URL leaves that to the server. An
 * error is left to the driver that connects next.
 *
 * @param ms The longest time to wait for the server, in milliseconds.
 */
export async function withOfferedTls<L extends DatabaseLocation>(location: L, ms: number): Promise<L> {
  if (location.kind === "sqlite" || location.tls.level !== "preferred") return location
  const isOffered = await offersTls(location, ms).catch(() => false)
  return isOffered ? location : { ...location, tls: { level: "none", options: undefined } }
}

async function offersTls(location: Exclude<DatabaseLocation, { kind: "sqlite" }>, ms: number): Promise<boolean> {
  const { host, port } = location
  const path =
    location.kind === "server" ? location.socketPath : host.startsWith("/") ? `${host}/.s.PGSQL.${port}` : undefined
  const socket = path === undefined ? connect({ host, port }) : connect({ path })
  const signal = peerSignal(ms)
  try {
    if (location.kind === "postgres") {
      socket.write(sslRequest)
      return (await bytes(socket, 1, signal)).toString() === "S"
    }
    // The length of the packet and its number, the version of the protocol, then that of the server up to a zero.
    const header = await bytes(socket, 4, signal)
    const packet = await bytes(socket, header.readUIntLE(0, 3), signal)
    const afterVersion = packet.indexOf(0, 1) + 1
    // The number of the connection has 4 bytes, and the salt 9 with the zero after it.
    return (packet.readUInt16LE(afterVersion + 13) & clientSsl) !== 0
  } finally {
    socket.destroy()
  }
}

async function bytes(socket: Socket, count: number, signal: AbortSignal): Promise<Buffer> {
  for (;;) {
    const found: Buffer | null = socket.read(count)
    if (found !== null) return found
    await once(socket, "readable", { signal })
    if (socket.readableEnded) throw new Error("the connection was closed")
  }
}
