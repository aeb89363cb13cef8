import { once } from "node:events"
import type { AddressInfo, Server } from "node:net"
import { host } from "./config.js"

/**
 * Listens on the loopback address and returns the port that it got. A port that is taken ends the process with one line
 * that names the variable to change: a stack trace would say less.
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
