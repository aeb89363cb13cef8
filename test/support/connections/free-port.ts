import { once } from "node:events"
import type { AddressInfo, Server } from "node:net"

// Loaded by jest and by Node directly, so it imports no other file of this repository.

/** Makes a server listen on a free port of 127.0.0.1. Returns the port. */
export async function listen(server: Server): Promise<number> {
  await once(server.listen(0, "127.0.0.1"), "listening")
  return (server.address() as AddressInfo).port
}
