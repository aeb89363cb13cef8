import { once } from "node:events"
import { createServer } from "node:net"

// Loaded by jest and by Node as it is: so it imports no file of ours.

/**
 * Below the ports that Linux gives to whoever asks for any (32768 and above): there, a port that was just given back may be
 * that of another listener, or of a connection, at any time. Each worker of jest has its own ones, and whatever is no
 * worker of jest.
 */
const first = 10_000
const count = 1_300
const slice = first + (Number(process.env.JEST_WORKER_ID ?? 0) % 16) * count
let next = Math.floor(Math.random() * count)

/**
 * A port of 127.0.0.1 on which nothing listens, and which nobody else is given meanwhile: for a program that has to know its
 * port before it starts, or that is to come back where it was.
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
