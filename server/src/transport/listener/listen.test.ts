import { once } from "node:events"
import { connect, createServer } from "node:net"
import { expect, test } from "@jest/globals"
import { pino } from "pino"
import { listen } from "./listen.js"

test.each([
  ["::", ["127.0.0.1", "::1"]],
  ["0.0.0.0", ["127.0.0.1"]],
  ["::1", ["::1"]],
])("a server that listens at %s is reached at %j", async (host, reached) => {
  const server = createServer((socket) => socket.end())
  const options = { address: { host, port: 0 }, maxConnections: 10, log: pino({ level: "silent" }) }
  const { address, stop } = await listen(server, options)
  expect(address).toEqual({ host, port: expect.any(Number) })
  for (const at of ["127.0.0.1", "::1"]) {
    const socket = connect(address.port, at)
    const isReached = await once(socket, "connect").then(
      () => true,
      () => false,
    )
    socket.destroy()
    expect([at, isReached]).toEqual([at, reached.includes(at)])
  }
  stop()
})
