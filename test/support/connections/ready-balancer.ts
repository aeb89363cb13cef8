import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"
import type { ServerProcess } from "../processes/server.js"
import { listen } from "./free-port.js"

/** One address for the gRPC listeners of several servers. Connections go in turn to the servers that were ready. */
export interface ReadyBalancer {
  readonly url: string
  /** The URLs of the servers that were ready at the last check. */
  ready(): string[]
  /** Checks /readyz of all servers, as a load balancer does periodically. */
  look(): Promise<void>
  close(): Promise<void>
}

/**
 * Opens a balancer that has checked once. If a server does not accept its connection, the connection fails without a
 * retry.
 */
export async function readyBalancer(servers: readonly ServerProcess[]): Promise<ReadyBalancer> {
  const sockets = new Set<Socket>()
  let ready: ServerProcess[] = []
  let turn = 0

  async function look(): Promise<void> {
    const answers = await Promise.all(
      servers.map(async ({ httpUrl }) => {
        const response = await fetch(`${httpUrl}/readyz`, { headers: { connection: "close" } }).catch(() => undefined)
        return response?.ok === true
      }),
    )
    ready = servers.filter((_, index) => answers[index])
  }

  const balancer = createServer((near) => {
    const server = ready[turn++ % ready.length]
    if (server === undefined) return near.destroy()
    const { hostname, port } = new URL(server.grpcUrl)
    const far = connect({ host: hostname, port: Number(port) })
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one)
      one.on("error", () => one.destroy())
      one.on("close", () => {
        sockets.delete(one)
        other.destroy()
      })
      one.pipe(other)
    }
    return undefined
  })
  const port = await listen(balancer)
  await look()
  return {
    url: `http://127.0.0.1:${port}`,
    ready: () => ready.map(({ grpcUrl }) => grpcUrl),
    look,
    async close() {
      const closed = once(balancer, "close")
      balancer.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}
