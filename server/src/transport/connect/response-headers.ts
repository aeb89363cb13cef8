import http from "node:http"
import http2 from "node:http2"
import type { Duplex } from "node:stream"
import { endRequest } from "../cut/end-request.js"
import { limits } from "../limits.js"

/** Header fields of every answer of a listener. */
export type ResponseHeaders = Readonly<Record<string, string>>

/** It serves programs, not pages: what a browser or a cache shows or keeps of it would be a mistake or an attack. */
export const securityHeaders: ResponseHeaders = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
}

/** The responses that a connection still has to send. */
const unfinished = new WeakMap<Duplex, Set<http.ServerResponse>>()

/** Connections whose clients were told to close them. */
const told = new WeakSet<Duplex>()

/**
 * The class of response for a server of HTTP/1.1. Node answers some requests without asking the handler (no host, an
 * expectation that nobody meets): those answers have the header fields too.
 *
 * @param isUnwelcome whether the client of a connection is to close it when it has read an answer, which says so: asked when the
 *   answer begins. The connection is not closed for it, because a client that still sends could lose the answer with it; who
 *   makes another request over it is cut off. Default: never.
 */
export function http1Response(
  headers: ResponseHeaders,
  isUnwelcome: (connection: Duplex) => boolean = () => false,
): typeof http.ServerResponse {
  const fields = new Map(Object.entries(headers))
  return class<Request extends http.IncomingMessage> extends http.ServerResponse<Request> {
    readonly #connection: Duplex
    /** Node's own, for its `maxRequestsPerSocket`: with it the header says "Connection: close", and the connection stays open. */
    declare maxRequestsOnConnectionReached: boolean | undefined

    constructor(...options: ConstructorParameters<typeof http.ServerResponse<Request>>) {
      super(...options)
      this.setHeaders(fields)
      const { socket } = options[0]
      this.#connection = socket
      const others = unfinished.get(socket) ?? new Set()
      unfinished.set(socket, others.add(this))
      // Node would take as many as there are in what it has read.
      if (others.size > limits.pipelinedRequests || told.has(socket)) socket.destroy()
      this.once("close", () => others.delete(this))
    }

    override writeHead(...status: unknown[]): this {
      if (isUnwelcome(this.#connection)) {
        told.add(this.#connection)
        if (this.maxRequestsOnConnectionReached !== undefined) this.maxRequestsOnConnectionReached = true
        // A version of Node that does not have it: the connection is closed with the answer.
        else this.shouldKeepAlive = false
      }
      return Reflect.apply(super.writeHead, this, status)
    }
  }
}

/** The same for a server of HTTP/2. */
export function http2Response(headers: ResponseHeaders): typeof http2.Http2ServerResponse {
  const fields = Object.entries(headers)
  return class<Request extends http2.Http2ServerRequest> extends http2.Http2ServerResponse<Request> {
    constructor(...options: ConstructorParameters<typeof http2.Http2ServerResponse<Request>>) {
      super(...options)
      for (const [name, value] of fields) this.setHeader(name, value)
    }
  }
}

const statuses: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
}

/** Answers what is no request of HTTP/1.1 as Node does, with the header fields of the others. */
export function answerClientErrors(server: http.Server, headers: ResponseHeaders): void {
  const fields = Object.entries({ connection: "close", ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    // In the middle of another answer it would be read as a part of that.
    const isAnswering = [...(unfinished.get(socket) ?? [])].some((response) => response.headersSent)
    const status = statuses[error.code ?? ""] ?? 400
    if (socket.writable && !isAnswering)
      socket.write(`HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\n${fields.join("")}\r\n`)
    socket.destroy(error)
  })
}

/**
 * Answers requests with an expectation that nobody meets as Node does, but reads little of their bodies.
 *
 * @param onRejected Hears of each, before it is answered.
 */
export function rejectExpectations(
  server: http.Server,
  onRejected: (request: http.IncomingMessage) => void = () => {},
): void {
  server.on("checkExpectation", (request, response) => {
    endRequest(request, response)
    onRejected(request)
    response.writeHead(417).end()
  })
}
