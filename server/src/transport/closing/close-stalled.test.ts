import { once } from "node:events"
import { connect, createServer, type Server, type Socket } from "node:net"
import { afterEach, expect, test } from "@jest/globals"
import { closeStalled } from "./close-stalled.js"

let server: Server

/** Starts a server whose connections are served by `speak`, and connects a client to it. */
async function start(ms: number, speak: (socket: Socket) => void, clock?: () => number): Promise<Socket> {
  server = createServer(speak)
  closeStalled(server, ms, clock)
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as { port: number }
  return connect(port, "127.0.0.1").on("error", () => {})
}

afterEach(() => {
  server.close()
})

const much = Buffer.alloc(32 * 1024 * 1024)

test("a connection whose client accepts none of the queued data is closed", async () => {
  const ended = Promise.withResolvers<void>()
  const client = await start(200, (socket) => {
    socket.on("error", () => {})
    socket.once("close", () => ended.resolve())
    socket.write(much)
  })
  client.pause()
  await ended.promise
  client.destroy()
})

test("a connection whose client reads slowly stays open, as does one without queued data", async () => {
  const parts = 512
  // The clock advances only as the client receives data, so that a pause of the machine does not count as a stalled
  // client.
  let now = 0
  const speak = async (socket: Socket) => {
    socket.on("error", () => {})
    for (let part = 0; part < parts; part++)
      await new Promise((resolve) => socket.write(much.subarray(0, 65536), resolve))
  }
  const client = await start(600, speak, () => now)
  // More than three seconds in total: five times the longest time without progress. It also takes that long in reality,
  // so that the server checks often.
  let received = 0
  const all = Promise.withResolvers<void>()
  client.on("data", (chunk: Buffer) => {
    received += chunk.length
    if (received === parts * 65_536) all.resolve()
    client.pause()
    now += chunk.length / 10_000
    setTimeout(() => client.resume(), chunk.length / 10_000)
  })
  const closed = once(client, "close")
  await Promise.race([all.promise, closed])
  now += 10_000
  // The server checks several times and closes nothing.
  expect(await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, 1_000, "still open"))])).toBe(
    "still open",
  )
  client.destroy()
})
