// A server of HTTP/2 whose connections are collected while Node has a part of the trailers of their streams. Ends with 0
// if it lives on, and nothing of them is left.
//
//   node --expose-gc test/support/connections/collected-connections.ts

import { once } from "node:events"
import http2, { type ServerHttp2Session } from "node:http2"
import net, { type AddressInfo } from "node:net"
import { flags, headerBlock, http2Frame, preface, types } from "../../../fuzz/generate/http2-frames.ts"
import { outliveStreams } from "../../../server/src/transport/outlive-streams.ts"
import { until } from "../until.ts"

/** How many streams have ended, and how many connections. */
let ended = 0
let closed = 0
const sessions: WeakRef<ServerHttp2Session>[] = []
const collectGarbage = globalThis.gc as () => void

const server = http2.createServer()
server.on("session", (session) => {
  outliveStreams(session)
  sessions.push(new WeakRef(session))
  session.on("error", () => {})
  session.on("close", () => closed++)
})
server.on("stream", (stream) => {
  stream.on("error", () => {})
  stream.respond()
  // More than the system holds for a client that reads nothing: the end of it waits in Node.
  stream.write(Buffer.alloc(8 * 1024 * 1024))
  stream.on("close", () => ended++)
  setTimeout(() => stream.destroy(), 50)
})
await once(server.listen(0, "127.0.0.1"), "listening")
const { port } = server.address() as AddressInfo

const header = headerBlock([
  [":method", "POST"],
  [":path", "/"],
  [":scheme", "http"],
  [":authority", "localhost"],
])
const request = Buffer.concat([
  preface,
  // The windows are as large as they can be, so that only the socket holds the answer back.
  http2Frame(types.settings, 0, 0, Buffer.from("00047fffffff", "hex")),
  http2Frame(types.windowUpdate, 0, 0, Buffer.from("7fff0000", "hex")),
  http2Frame(types.headers, flags.endHeaders, 1, header),
  http2Frame(types.headers, flags.endStream, 1, headerBlock([["x-trailer", "value"]])),
])

for (let round = 0; round < 5; round++) {
  const clients = Array.from({ length: 10 }, () => net.connect(port, "127.0.0.1").pause())
  for (const client of clients) client.on("error", () => {}).write(request)
  await until(() => ended === 10 * (round + 1))
  for (const client of clients) client.destroy()
  await until(() => closed === ended)
  collectGarbage()
}

await until(() => {
  collectGarbage()
  return sessions.every((session) => session.deref() === undefined)
})
if (sessions.length !== 50) throw new Error(`${sessions.length} connections in place of 50`)
process.exit()
