import { once } from "node:events"
import { connect, createServer } from "node:net"

// Loaded by jest and by Node directly, so it imports no other file of this repository.

/**
 * The range is below the ephemeral ports of Linux (32768 and above), where a port that was just released may be taken
 * by another listener or connection at any time. Each worker of jest has its own part of the range, and so have
 * processes outside jest.
 */
const first = 10_000
const count = 1_300
const slice = first + (Number(process.env.JEST_WORKER_ID ?? 0) % 16) * count
let next = Math.floor(Math.random() * count)

/**
 * Returns a port of 127.0.0.1 on which nothing listens, and which is not handed out again soon. It is for a program
 * that must know its port before it starts, or that is restarted on the same port.
 */
export async function freePort(): Promise<number> {
  for (let tried = 0; tried < count; tried++) {
    const port = slice + (next++ % count)
    const server = createServer()
    const isFree = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false)).listen(port, "127.0.0.1", () => resolve(true))
    })
    if (!isFree) continue
    const closed = once(server, "close")
    server.close()
    await closed
    return port
  }
  throw new Error("no free port")
}

/** Whether a listener accepts connections on a port of 127.0.0.1. */
export async function connects(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1")
  try {
    await once(socket, "connect")
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
