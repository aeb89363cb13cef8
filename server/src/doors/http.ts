import http from "node:http"
import http2 from "node:http2"
import type { Socket } from "node:net"
import type { Readiness } from "../readiness.js"
import { connectHandler } from "./connect-handler.js"
import type { Door, DoorOptions } from "./door.js"
import { listen } from "./listen.js"

/**
 * Opens the HTTP door: Connect, gRPC-Web and gRPC over HTTP/1.1 and HTTP/2 on one port, and the probes `GET /healthz`
 * (the process lives) and `GET /readyz` (it can do its work). Rejects as `listen` does.
 */
export async function openHttpDoor(options: DoorOptions & { readiness: Readiness }): Promise<Door> {
  const { dispatch, maxMessageBytes } = options
  const handler = connectHandler({ dispatch, maxMessageBytes, otherwise: probes(options.readiness) })
  const http1 = http.createServer({ noDelay: true }, handler)
  const http2Server = http2.createServer({}, handler)
  const sessions = new Set<http2.ServerHttp2Session>()
  http2Server.on("session", (session) => {
    sessions.add(session)
    session.once("close", () => sessions.delete(session))
  })
  // A broken connection is the client's affair; without a listener it would be an uncaught exception.
  http2Server.on("sessionError", () => {})

  // The HTTP/1.1 server listens, so that its time-outs and its idle connections are looked after, but each connection
  // goes to the server of the protocol that it speaks.
  const toHttp1 = http1.listeners("connection") as ((socket: Socket) => void)[]
  http1.removeAllListeners("connection")
  http1.on("connection", (socket: Socket) => {
    byPreface(socket, (protocol) => {
      if (protocol === "h2") {
        // HTTP/1.1 answers a client that has ended its side; to HTTP/2 that is the end of the connection.
        socket.allowHalfOpen = false
        http2Server.emit("connection", socket)
      } else for (const accept of toHttp1) accept.call(http1, socket)
    })
  })
  let closing = false
  http1.prependListener("request", (_request, response) => {
    if (closing) response.setHeader("connection", "close")
  })
  const listener = await listen(http1, options.address)
  return {
    address: listener.address,
    stopAccepting() {
      closing = true
      listener.stop()
      for (const session of sessions) session.close()
    },
    async closed(graceMs) {
      // An idle connection of HTTP/1.1 cannot be told that it will be closed: its client may be sending just now. So it
      // gets a moment in which a request is still answered, with "Connection: close".
      const timer = setTimeout(() => http1.closeIdleConnections(), Math.min(graceMs / 2, 500))
      await listener.closed(graceMs)
      clearTimeout(timer)
    },
  }
}

// Every HTTP/2 connection opens with these octets (RFC 9113, section 3.4); no HTTP/1.1 request line does.
const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")

// Decides by the first bytes which protocol a connection speaks. A connection that says nothing in time is closed.
function byPreface(socket: Socket, decided: (protocol: "h1" | "h2") => void): void {
  let seen: Buffer = Buffer.alloc(0)
  const giveUp = () => socket.destroy()
  socket.setTimeout(10_000, giveUp)
  socket.on("error", giveUp)
  socket.on("end", giveUp)
  const read = () => {
    const chunk: Buffer | null = socket.read()
    if (chunk === null) return
    seen = seen.length === 0 ? chunk : Buffer.concat([seen, chunk])
    const compared = Math.min(seen.length, preface.length)
    const matches = seen.subarray(0, compared).equals(preface.subarray(0, compared))
    if (matches && compared < preface.length) return
    socket.off("readable", read)
    socket.off("error", giveUp)
    socket.off("end", giveUp)
    socket.setTimeout(0)
    socket.off("timeout", giveUp)
    socket.unshift(seen)
    decided(matches ? "h2" : "h1")
  }
  socket.on("readable", read)
}

function probes(readiness: Readiness) {
  return (request: { url?: string | undefined; method?: string | undefined }, response: ProbeResponse): void => {
    const path = request.url?.split("?", 1)[0]
    const isGet = request.method === "GET" || request.method === "HEAD"
    if (path === "/healthz" && isGet) answer(response, 200, "ok")
    else if (path === "/readyz" && isGet) {
      if (readiness.ready) answer(response, 200, "ready")
      else answer(response, 503, "not ready")
    } else answer(response, 404, "not found")
  }
}

interface ProbeResponse {
  writeHead(status: number, headers: Record<string, string>): unknown
  end(body: string): unknown
}

function answer(response: ProbeResponse, status: number, body: string): void {
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" })
  response.end(`${body}\n`)
}
