import { once } from "node:events"
import type { AddressInfo, Server } from "node:net"
import { host } from "./config.js"

/**
 * Listens on the loopback address and returns the port. If the port is in use, prints a line that names the variable to
 * change, and exits, because a stack trace would be less helpful.
 */
export async function listen(server: Server, port: number, variable: string): Promise<number> {
  server.listen(port, host)
  try {
    await once(server, "listening")
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error
    console.error(`${host}:${port} is taken; set ${variable} to another port`)
    process.exit(1)
  }
  return (server.address() as AddressInfo).port
}
