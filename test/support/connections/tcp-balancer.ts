import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"
import { listen } from "./free-port.js"

/** One address for several servers, like that of a TCP load balancer. */
export interface TcpBalancer {
  /** The port on 127.0.0.1 on which it listens. */
  readonly port: number
  close(): Promise<void>
}

/** Opens a balancer that passes each connection to the next host that accepts it. */
export async function tcpBalancer(hosts: readonly string[], port: number): Promise<TcpBalancer> {
  const sockets = new Set<Socket>()
  let turn = 0

  const server = createServer({ allowHalfOpen: true, noDelay: true }, (near) => {
    const first = turn++
    sockets.add(near)
    near.on("error", () => near.destroy())
    near.on("close", () => sockets.delete(near))
    const dial = (attempt: number) => {
      if (attempt === hosts.length || near.destroyed) return near.destroy()
      const host = hosts[(first + attempt) % hosts.length] as string
      const far = connect({ port, host, allowHalfOpen: true, noDelay: true })
      const next = () => dial(attempt + 1)
      far.once("error", next)
      far.once("connect", () => {
        far.off("error", next)
        far.on("error", () => near.destroy())
        near.on("close", () => far.destroy())
        near.pipe(far)
        far.pipe(near)
      })
      return undefined
    }
    dial(0)
  })
  return {
    port: await listen(server),
    async close() {
      const closed = once(server, "close")
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}
