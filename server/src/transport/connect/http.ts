import http from "node:http"
import http2 from "node:http2"
import https from "node:https"
import type { Socket } from "node:net"
import { TLSSocket } from "node:tls"
import type { Readiness } from "../../health/readiness.js"
import { closeUnneeded } from "../closing/close-unneeded.js"
import { closeUnresponsive } from "../closing/close-unresponsive.js"
import { outliveStreams } from "../closing/outlive-streams.js"
import { Connection } from "../limits/connection.js"
import { limits } from "../limits/limits.js"
import { listen } from "../listener/listen.js"
import type { Listener, ListenerOptions } from "../listener/listener.js"
import { admits, followCertificate, tlsServerOptions, verifiedNames } from "../tls/tls.js"
import { connectHandler } from "./handler.js"
import { answerClientErrors, http1Response, http2Response, securityHeaders } from "./response-headers.js"

const withTls = { "strict-transport-security": "max-age=31536000" }

/**
 * Opens the HTTP listener: Connect, gRPC-Web and gRPC over HTTP/1.1 and HTTP/2 on one port, with the probes `GET
 * /healthz` (the process is alive) and `GET /readyz` (it can serve calls). Rejects as `listen` does.
 *
 * Pages of other origins cannot call it: there are no CORS headers, and a preflight request is rejected.
 */
export async function openHttpListener(options: ListenerOptions & { readiness: Readiness }): Promise<Listener> {
  const { router, maxMessageBytes, certificate, handshakeTimeoutMs, idleTimeoutMs, log } = options
  const connections = new WeakMap<object, Connection>()
  const handler = connectHandler({
    router,
    maxMessageBytes,
    openMethods: options.openMethods,
    otherwise: probes(options.readiness),
    connectionOf: (request) =>
      connections.get(("stream" in request ? request.stream.session : request.socket) ?? request) ??
      // The connection was closed, so no client receives the answer.
      new Connection(maxMessageBytes, undefined),
  })
  const headers = { ...securityHeaders, ...(certificate && withTls) }
  const http1Options: http.ServerOptions = {
    noDelay: true,
    ServerResponse: http1Response(headers, (socket) => connections.get(socket)?.shouldReconnect === true),
    maxHeaderSize: limits.maxHeaderBytes,
    headersTimeout: handshakeTimeoutMs,
    // Longer than load balancers and agents keep an idle connection (60 s is common). The server should not close
    // first, because a request may be in transit at that moment.
    keepAliveTimeout: Math.min(idleTimeoutMs, limits.keepAliveMs),
    // In addition to the timeout of the header. The handler gives each method less.
    requestTimeout: handshakeTimeoutMs + router.maxDeadlineMs,
    connectionsCheckingInterval: Math.min(handshakeTimeoutMs, 5_000),
  }
  const protocols = ["h2", "http/1.1"]
  const http1 =
    certificate === undefined
      ? http.createServer(http1Options, handler.serve)
      : https.createServer(
          { ...http1Options, ...tlsServerOptions(certificate, { protocols, handshakeTimeoutMs }) },
          handler.serve,
        )
  if (http1 instanceof https.Server && certificate !== undefined) followCertificate(http1, certificate, log)
  answerClientErrors(http1, headers)
  http1.on("checkExpectation", handler.rejectWith(417))
  const http2Server = http2.createServer(
    {
      settings: { maxConcurrentStreams: limits.maxConcurrentStreams, maxHeaderListSize: limits.maxHeaderBytes },
      Http2ServerResponse: http2Response(headers),
    },
    handler.serve,
  )
  // Node would answer these requests itself and leave their streams open for as long as the clients like.
  http2Server.on("connect", handler.rejectWith(405))
  http2Server.on("checkExpectation", handler.rejectWith(417))
  const sessions = new Set<http2.ServerHttp2Session>()
  http2Server.on("session", (session) => {
    sessions.add(session)
    session.once("close", () => sessions.delete(session))
  })
  // A broken connection is the client's problem. Without a listener the error would be an uncaught exception.
  http2Server.on("sessionError", () => {})

  // The HTTP/1.1 server listens, so that Node applies its timeouts and handles its idle connections. Each connection is
  // passed to the server of the protocol that it speaks.
  const accepted = certificate === undefined ? "connection" : "secureConnection"
  const toHttp1 = http1.listeners(accepted) as ((socket: Socket) => void)[]
  http1.removeAllListeners(accepted)
  http1.on(accepted, (socket: Socket) => {
    const secure = socket instanceof TLSSocket
    if (secure && certificate !== undefined && !admits(socket, certificate, log)) return
    const names = secure ? verifiedNames(socket) : undefined
    byPreface(socket, handshakeTimeoutMs, (protocol) => {
      const connection = new Connection(maxMessageBytes, names, options.keyBudgets)
      // With TLS the protocol was negotiated before, by ALPN.
      if (secure && (socket.alpnProtocol === "h2") !== (protocol === "h2")) socket.destroy()
      else if (protocol === "h2") {
        // HTTP/1.1 still answers a client that has closed its sending side. For HTTP/2 that is the end of the
        // connection.
        socket.allowHalfOpen = false
        const remember = (session: http2.ServerHttp2Session) => {
          connections.set(session, connection)
          outliveStreams(session)
          closeUnneeded(session, socket, connection, idleTimeoutMs)
          closeUnresponsive(session, socket)
        }
        http2Server.once("session", remember)
        http2Server.emit("connection", socket)
        // Removed even if no session was created. Otherwise the listener would run for the next connection.
        http2Server.off("session", remember)
      } else {
        connections.set(socket, connection)
        for (const accept of toHttp1) accept.call(http1, socket)
      }
    })
  })
  let closing = false
  http1.prependListener("request", (_request, response) => {
    if (closing) response.setHeader("connection", "close")
  })
  const listener = await listen(http1, options)
  return {
    address: listener.address,
    stopAccepting() {
      closing = true
      listener.stop()
      for (const session of sessions) session.close()
    },
    async closed(graceMs) {
      // The client of an idle HTTP/1.1 connection cannot be informed of the close and may be sending at that moment. So
      // idle connections stay open for a moment in which a request is still answered, with "Connection: close".
      const timer = setTimeout(() => http1.closeIdleConnections(), Math.min(graceMs / 2, 500))
      await listener.closed(graceMs)
      clearTimeout(timer)
    },
  }
}

// Every HTTP/2 connection begins with these octets (RFC 9113, section 3.4). No HTTP/1.1 request line does.
const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")

// Detects a connection's protocol from its first bytes. A connection that does not send them in time is closed.
function byPreface(socket: Socket, timeoutMs: number, decided: (protocol: "h1" | "h2") => void): void {
  let seen: Buffer = Buffer.alloc(0)
  const giveUp = () => socket.destroy()
  // The socket's own timeout is not used, because it restarts with every byte.
  const timer = setTimeout(giveUp, timeoutMs)
  socket.once("close", () => clearTimeout(timer))
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
    clearTimeout(timer)
    socket.unshift(seen)
    decided(matches ? "h2" : "h1")
  }
  socket.on("readable", read)
}

function probes(readiness: Readiness) {
  return (request: { url?: string | undefined; method?: string | undefined }, response: ProbeResponse): boolean => {
    const path = request.url?.split("?", 1)[0]
    const isGet = request.method === "GET" || request.method === "HEAD"
    if (path === "/healthz" && isGet) answer(response, 200, "ok")
    else if (path === "/readyz" && isGet) {
      if (readiness.ready) answer(response, 200, "ready")
      else answer(response, 503, "not ready")
    } else {
      answer(response, 404, "not found")
      return false
    }
    return true
  }
}

interface ProbeResponse {
  writeHead(status: number, headers: Record<string, string>): unknown
  end(body: string): unknown
}

function answer(response: ProbeResponse, status: number, body: string): void {
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8" })
  response.end(`${body}\n`)
}
