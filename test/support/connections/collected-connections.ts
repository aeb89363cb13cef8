// A server of HTTP/2 whose connections are garbage-collected while Node still has to send trailers of their streams.
// Exits with 0 if the process survives and all the connections are freed.
//
// node --expose-gc test/support/connections/collected-connections.ts

import http2, { type ServerHttp2Session } from "node:http2"
import net from "node:net"
import { flags, headerBlock, http2Frame, preface, types } from "../../../fuzz/generate/http2-frames.ts"
import { outliveStreams } from "../../../server/src/transport/closing/outlive-streams.ts"
import { until } from "../until.ts"
import { listen } from "./free-port.ts"

/** The number of streams and of connections that have ended. */
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
  // More than the kernel buffers for a client that reads nothing, so that the rest waits in Node.
  stream.write(Buffer.alloc(8 * 1024 * 1024))
  stream.on("close", () => ended++)
  setTimeout(() => stream.destroy(), 50)
})
const port = await listen(server)

const header = headerBlock([
  [":method", "POST"],
  [":path", "/"],
  [":scheme", "http"],
  [":authority", "localhost"],
])
const request = Buffer.concat([
  preface,
  // The windows have the maximum size, so that only the socket delays the response.
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
