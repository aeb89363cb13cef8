import http from "node:http"
import http2 from "node:http2"
import type { Socket } from "node:net"
import type { Readiness } from "../../health/readiness.js"
import { atMostEvery } from "../../util/at-most-every.js"
import { peerTimeout } from "../../util/peer-timeout.js"
import { superviseSession } from "../closing/supervise-session.js"
import { Connection } from "../limits/connection.js"
import { limits } from "../limits/limits.js"
import { createAcceptor, negotiated } from "../listener/accept.js"
import { listen } from "../listener/listen.js"
import type { Listener, ListenerOptions } from "../listener/listener.js"
import { type ConnectHandlerOptions, connectHandler } from "./handler.js"
import { http1Connections } from "./http1-connections.js"
import { http1Response, http2Response, securityHeaders } from "./response-headers.js"

/** The shortest time between two log lines about headers that are too large, in milliseconds. */
const largeHeaderLogMs = 10_000

const withTls = { "strict-transport-security": "max-age=31536000" }

/**
 * Opens the HTTP listener: Connect, gRPC-Web and gRPC over HTTP/1.1 and HTTP/2 on one port, with the probes `GET
 * /healthz` (the process is alive) and `GET /readyz` (it can serve calls), the public keys of assertions at `GET
 * /.well-known/jwks.json`, and the addresses for signals. Rejects as `listen` does.
 *
 * Pages of other origins cannot call it: there are no CORS headers, and a preflight request is rejected.
 */
export async function openHttpListener(
  options: ListenerOptions & PageOptions & Pick<ConnectHandlerOptions, "verifier">,
): Promise<Listener> {
  const { router, maxMessageBytes, handshakeTimeoutMs, idleTimeoutMs } = options
  const connections = new WeakMap<object, Connection>()
  const once = atMostEvery(largeHeaderLogMs, () => performance.now())
  const onLargeHeader = (maxBytes: number) =>
    once(String(maxBytes), () =>
      options.log.warn({ max_header_bytes: maxBytes }, "a request is rejected with 431: its header is too large"),
    )
  const handler = connectHandler({
    router,
    maxMessageBytes,
    openMethods: options.openMethods,
    loopbackNames: options.loopbackNames,
    log: options.log,
    otherwise: pages(options),
    connectionOf: (request) =>
      connections.get(("stream" in request ? request.stream.session : request.socket) ?? request) ??
      // The connection was closed, so no client receives the answer.
      new Connection(maxMessageBytes, undefined),
    onLargeHeader,
    verifier: options.verifier,
  })
  const headers = { ...securityHeaders, ...(options.certificate && withTls) }
  let closing = false
  const http1 = http1Connections({
    server: http.createServer({
      ServerResponse: http1Response(headers, (socket) => closing || connections.get(socket)?.shouldReconnect === true),
      maxHeaderSize: limits.maxAuthorizeHeaderBytes,
      // Longer than load balancers and agents keep an idle connection (60 s is common). The server should not close
      // first, because a request may be in transit at that moment.
      keepAliveTimeout: Math.min(idleTimeoutMs, limits.keepAliveMs),
    }),
    headers,
    headerTimeoutMs: handshakeTimeoutMs,
    handler,
    onLargeHeader: () => onLargeHeader(limits.maxAuthorizeHeaderBytes),
  })
  const http2Server = http2.createServer(
    {
      settings: {
        maxConcurrentStreams: limits.unauthenticatedStreams,
        maxHeaderListSize: limits.maxAuthorizeHeaderBytes,
      },
      Http2ServerResponse: http2Response(headers),
    },
    handler.serve,
  )
  // Node would answer these requests itself and leave their streams open for as long as the clients like.
  http2Server.on("connect", handler.rejectWith(405))
  http2Server.on("checkExpectation", handler.rejectWith(417))
  const sessions = new Set<http2.ServerHttp2Session>()

  const acceptor = createAcceptor({ ...options, protocols: ["h2", "http/1.1"] }, (socket, connection) => {
    byPreface(socket, handshakeTimeoutMs, (protocol) => {
      if ((negotiated(socket) ?? protocol) !== protocol) socket.destroy()
      else if (protocol === "h2") {
        http2Server.once("session", (session) => {
          sessions.add(session)
          session.once("close", () => sessions.delete(session))
          connections.set(session, connection)
          superviseSession(session, socket, connection, { idleMs: idleTimeoutMs })
        })
        http2Server.emit("connection", socket)
      } else {
        connections.set(socket, connection)
        http1.accept(socket)
      }
    })
  })
  const listener = await listen(acceptor, options)
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
      const timer = setTimeout(http1.closeIdle, Math.min(graceMs / 2, 500))
      await listener.closed(graceMs)
      clearTimeout(timer)
    },
  }
}

// Every HTTP/2 connection begins with these octets (RFC 9113, section 3.4). No HTTP/1.1 request line does.
const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")

// Detects a connection's protocol from its first bytes. A connection that does not send them in time is closed.
function byPreface(socket: Socket, timeoutMs: number, decided: (protocol: "http/1.1" | "h2") => void): void {
  let seen: Buffer = Buffer.alloc(0)
  const giveUp = () => socket.destroy()
  // The socket's own timeout is not used, because it restarts with every byte.
  const timeout = peerTimeout(timeoutMs, giveUp)
  socket.once("close", timeout.clear)
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
    timeout.clear()
    socket.unshift(seen)
    decided(matches ? "h2" : "http/1.1")
  }
  socket.on("readable", read)
}

interface PageOptions {
  readiness: Readiness
  /** Returns the public keys of assertions as a JWK Set; undefined if the service signs none. */
  keySet?: (() => string) | undefined
}

/** Verifiers and proxies may keep the keys for five minutes. A new key is published longer before it signs. */
const keySetHeaders = { "content-type": "application/json", "cache-control": "public, max-age=300" }

function pages({ readiness, keySet }: PageOptions) {
  return (request: { url?: string | undefined; method?: string | undefined }, response: PageResponse): boolean => {
    const path = request.url?.split("?", 1)[0]
    const isGet = request.method === "GET" || request.method === "HEAD"
    if (path === "/healthz" && isGet) answer(response, 200, "ok")
    else if (path === "/readyz" && isGet) {
      const { ready, detail } = readiness
      answer(response, ready ? 200 : 503, (ready ? "ready" : "not ready") + (detail === undefined ? "" : `\n${detail}`))
    } else if (path === "/.well-known/jwks.json" && isGet && keySet !== undefined) {
      response.writeHead(200, keySetHeaders)
      response.end(keySet())
    } else {
      answer(response, 404, "not found")
      return false
    }
    return true
  }
}

interface PageResponse {
  writeHead(status: number, headers: Record<string, string>): unknown
  end(body: string): unknown
}

function answer(response: PageResponse, status: number, body: string): void {
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8" })
  response.end(`${body}\n`)
}
