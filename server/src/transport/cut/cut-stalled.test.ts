import { once } from "node:events"
import { connect, createServer, type Server, type Socket } from "node:net"
import { afterEach, expect, test } from "@jest/globals"
import { cutStalled } from "./cut-stalled.js"

let server: Server

/** A server that says more than a socket holds, and what it makes of each connection. */
async function start(ms: number, speak: (socket: Socket) => void): Promise<Socket> {
  server = createServer(speak)
  cutStalled(server, ms)
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as { port: number }
  return connect(port, "127.0.0.1").on("error", () => {})
}

afterEach(() => {
  server.close()
})

const much = Buffer.alloc(32 * 1024 * 1024)

test("a connection whose client takes nothing of what waits is closed", async () => {
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

test("one whose client takes it slowly is not, nor one for which nothing waits", async () => {
  const parts = 512
  const client = await start(600, async (socket) => {
    socket.on("error", () => {})
    for (let part = 0; part < parts; part++)
      await new Promise((resolve) => socket.write(much.subarray(0, 65536), resolve))
  })
  // More than three seconds in all: five times as long as a client may take nothing.
  let received = 0
  const all = Promise.withResolvers<void>()
  client.on("data", (chunk: Buffer) => {
    received += chunk.length
    if (received === parts * 65_536) all.resolve()
    client.pause()
    setTimeout(() => client.resume(), chunk.length / 10_000)
  })
  const closed = once(client, "close")
  await Promise.race([all.promise, closed])
  expect(await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, 1_000, "still open"))])).toBe(
    "still open",
  )
  client.destroy()
})
