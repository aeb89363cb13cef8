import { once } from "node:events"
import http2 from "node:http2"
import { type AddressInfo, connect, createServer, type Socket } from "node:net"
import { afterEach, beforeEach, expect, test } from "@jest/globals"
import { Connection } from "../limits/connection.js"
import { superviseSession } from "./supervise-session.js"

let server: http2.Http2Server
let sessions: http2.ServerHttp2Session[]
beforeEach(async () => {
  server = http2.createServer()
  sessions = []
  let accepted: Socket
  server.prependListener("connection", (socket: Socket) => {
    accepted = socket
  })
  server.on("sessionError", () => {})
  server.on("session", (session) => {
    sessions.push(session)
    superviseSession(session, accepted, new Connection(1_000_000, undefined), { idleMs: 60_000, pingMs: 200 })
  })
  server.on("stream", (stream) => {
    stream.on("error", () => {})
    stream.respond()
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
})
afterEach(() => {
  server.close()
})

const portOf = (one: { address(): unknown }) => (one.address() as AddressInfo).port

/** Connects a client with a stream that stays open. */
async function open(port: number) {
  const client = http2.connect(`http://127.0.0.1:${port}`)
  client.on("error", () => {})
  const stream = client.request({ ":path": "/", ":method": "POST" }, { endStream: false })
  stream.on("error", () => {})
  await once(stream, "response")
  return client
}

/** Opens a port from which the server receives everything. @param isDeaf Whether the client receives nothing. */
async function forwarder(isDeaf: boolean) {
  const sockets: Socket[] = []
  const between = createServer((socket) => {
    const toServer = connect(portOf(server), "127.0.0.1")
    sockets.push(socket, toServer)
    for (const end of sockets) end.on("error", () => {})
    socket.pipe(toServer)
    if (!isDeaf) toServer.pipe(socket)
  })
  await once(between.listen(0, "127.0.0.1"), "listening")
  return {
    port: portOf(between),
    /** From now on the client receives nothing. */
    goDeaf: () => sockets[1]?.unpipe().pause(),
    close() {
      for (const socket of sockets) socket.destroy()
      between.close()
    },
  }
}

test("S-41: a client that does not read is disconnected while it has a stream, and a client that answers is not", async () => {
  const well = await open(portOf(server))
  const between = await forwarder(false)
  const deaf = await open(between.port)
  between.goDeaf()
  await once(sessions[1] as http2.ServerHttp2Session, "close")
  expect(sessions[0]?.destroyed).toBe(false)
  for (const client of [well, deaf]) client.destroy()
  between.close()
})

test("a client that does not read the answer of its last stream is disconnected, and one that does is not", async () => {
  server.removeAllListeners("stream")
  server.on("stream", (stream) => stream.respond({ ":status": 200 }, { endStream: true }))
  const ask = (port: number) => {
    const client = http2.connect(`http://127.0.0.1:${port}`).on("error", () => {})
    return { client, stream: client.request({ ":path": "/" }).on("error", () => {}) }
  }
  const well = ask(portOf(server))
  await once(well.stream, "response")
  const between = await forwarder(true)
  const deaf = ask(between.port)
  while (sessions[1] === undefined) await once(server, "session")
  await once(sessions[1], "close")
  expect(sessions[0]?.destroyed).toBe(false)
  for (const { client } of [well, deaf]) client.destroy()
  between.close()
})

test("clients are not disconnected because the service itself was blocked", async () => {
  const client = await open(portOf(server))
  // The client is in the same process, so both sides are blocked meanwhile.
  for (let turn = 0; turn < 3; turn++) {
    const until = performance.now() + 450
    while (performance.now() < until);
    // What has arrived is read by then.
    for (let ping = 0; ping < 2; ping++) await new Promise<void>((resolve) => client.ping(() => resolve()))
  }
  expect(sessions[0]?.destroyed).toBe(false)
  client.destroy()
})

test("a connection is closed if no PING can be sent, even if the client has disconnected unnoticed", async () => {
  server.removeAllListeners("stream")
  const sent = 100_000
  server.once("stream", (stream) => {
    stream.on("error", () => {})
    stream.respond()
    stream.end()
    // A stream with unread data does not close, so that its session waits for it.
    stream.once("data", () => {
      stream.pause()
      setTimeout(() => stream.close(), 50)
    })
  })
  const client = http2.connect(`http://127.0.0.1:${portOf(server)}`)
  client.on("error", () => {})
  const stream = client.request({ ":path": "/", ":method": "POST" }, { endStream: false })
  stream.on("error", () => {})
  stream.resume().write(Buffer.alloc(sent))
  await once(stream, "close")
  const [session] = sessions as [http2.ServerHttp2Session]
  client.destroy()
  await once(session, "close")
})
