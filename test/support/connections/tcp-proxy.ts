import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"
import { freePort } from "../machine/free-port.js"

/** A network between a client and a server on 127.0.0.1, whose failures are simulated. */
export interface TcpProxy {
  /** The port on 127.0.0.1 on which it listens. */
  readonly port: number
  /** The number of connections accepted so far. */
  readonly accepted: number
  /** The number of accepted connections that are open. */
  readonly open: number
  /** Resets every connection and rejects new ones. */
  cut(): Promise<void>
  /**
   * Accepts connections but forwards no data, on existing ones neither. Data sent meanwhile arrives after restore().
   */
  hang(): void
  /**
   * Silently drops every connection, as a firewall does whose state was lost: data sent on them is discarded, even
   * after restore(). New connections are forwarded.
   */
  lose(): void
  /**
   * Stops forwarding data to clients on connections that have sent `text`, as soon as the whole text has arrived. These
   * clients wait for a response that the server has sent. Without a text it applies immediately to every connection,
   * and to new ones.
   */
  mute(text?: string): void
  /** Resets every connection, and forwards new ones. Undoes mute(). */
  reset(): void
  /** Undoes cut() and hang(). */
  restore(): Promise<void>
  close(): Promise<void>
}

/** Opens a proxy on a free port of 127.0.0.1 that forwards to `targetPort`. */
export async function tcpProxy(targetPort: number, targetHost = "127.0.0.1"): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  const lost = new WeakSet<Socket>()
  const servers = new Set<Socket>()
  // A port that can be listened on again after cut().
  const port = await freePort()
  let mutes: string | undefined
  let muted = false
  let hanging = false
  let accepted = 0
  let open = 0

  const server = createServer({ allowHalfOpen: true }, (near) => {
    accepted++
    open++
    near.once("close", () => open--)
    const far = connect({ port: targetPort, host: targetHost, allowHalfOpen: true })
    servers.add(far)
    if (muted) far.pause()
    far.once("close", () => servers.delete(far))
    near.on("data", (chunk) => {
      if (mutes !== undefined && chunk.includes(mutes)) far.pause()
    })
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      const passes = () => !lost.has(from)
      from.on("data", (chunk) => passes() && to.write(chunk))
      from.on("end", () => passes() && from.end())
      from.on("error", () => passes() && to.destroy())
      from.on("close", () => {
        sockets.delete(from)
        if (passes()) to.destroy()
      })
      if (hanging) from.pause()
    }
  })

  const listen = () => once(server.listen(port, "127.0.0.1"), "listening")

  async function cut() {
    if (!server.listening) return
    const closed = once(server, "close")
    server.close()
    reset()
    await closed
  }

  function reset() {
    mutes = undefined
    muted = false
    for (const socket of sockets) {
      // Node goes into a busy loop at exit after a reset of a socket that was ending.
      if (socket.writableEnded) socket.destroy()
      else socket.resetAndDestroy()
    }
  }

  await listen()
  return {
    port,
    get accepted() {
      return accepted
    },
    get open() {
      return open
    },
    cut,
    hang() {
      hanging = true
      for (const socket of sockets) socket.pause()
    },
    lose() {
      for (const socket of sockets) {
        lost.add(socket)
        socket.resume()
      }
    },
    mute(text) {
      mutes = text
      muted = text === undefined
      if (muted) for (const server of servers) server.pause()
    },
    reset,
    async restore() {
      hanging = false
      for (const socket of sockets) socket.resume()
      if (!server.listening) await listen()
    },
    close: cut,
  }
}
