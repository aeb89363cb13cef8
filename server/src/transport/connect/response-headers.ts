import http from "node:http"
import http2 from "node:http2"
import type { Duplex } from "node:stream"
import { peerTimeout } from "../../util/peer-timeout.js"
import { isAdmitted } from "../closing/close-stream.js"
import { limits } from "../limits/limits.js"
import { readLittle, stopReading } from "./http1-parser.js"

/** The header fields of every answer of a listener. */
export type ResponseHeaders = Readonly<Record<string, string>>

/** The service has no pages: a browser that renders an answer, or a cache that stores one, is mistaken. */
export const securityHeaders: ResponseHeaders = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
}

/** The unfinished responses of each connection. */
const unfinished = new WeakMap<Duplex, Set<http.ServerResponse>>()

/**
 * Creates the response class of an HTTP/1.1 server. Node answers some requests without calling the handler (without a
 * host, or with an unsupported expectation). Those answers have the header fields, too.
 *
 * If a request is answered before it is complete, the rest is discarded, so that it does not block the connection's next
 * request. Only a little is read, in few chunks. If there is more, or that takes too long, the connection is closed.
 *
 * @param shouldReconnect Whether the connection ends after an answer, which then says so. Called when the answer begins.
 * Such an answer ends when the rest of its request was discarded, because a client that is still sending could lose it.
 * Default: never.
 */
export function http1Response(
  headers: ResponseHeaders,
  shouldReconnect: (connection: Duplex) => boolean = () => false,
): typeof http.ServerResponse {
  const fields = new Map(Object.entries(headers))
  return class<Request extends http.IncomingMessage> extends http.ServerResponse<Request> {
    readonly #connection: Duplex
    #endsConnection = false

    constructor(...options: ConstructorParameters<typeof http.ServerResponse<Request>>) {
      super(...options)
      this.setHeaders(fields)
      const { socket } = options[0]
      this.#connection = socket
      const others = unfinished.get(socket) ?? new Set()
      unfinished.set(socket, others.add(this))
      // Node would accept as many pipelined requests as it has read.
      if (others.size > limits.pipelinedRequests) socket.destroy()
      this.once("close", () => others.delete(this))
    }

    override writeHead(...status: unknown[]): this {
      this.#endsConnection = shouldReconnect(this.#connection)
      if (this.#endsConnection) this.setHeader("connection", "close")
      return Reflect.apply(super.writeHead, this, status)
    }

    override end(...last: unknown[]): this {
      if (!this.headersSent && shouldReconnect(this.#connection)) this.writeHead(this.statusCode)
      const { req } = this
      let hasEnded = false
      const end = () => {
        if (!hasEnded) Reflect.apply(super.end, this, last)
        hasEnded = true
      }
      if (!this.#endsConnection || req.complete || req.destroyed) end()
      if (req.complete) return this
      const wasAdmitted = isAdmitted(this)
      if (!wasAdmitted) readLittle(req)
      let left: number = wasAdmitted ? Number.POSITIVE_INFINITY : limits.lingerHttp1Bytes
      const timeout = peerTimeout(limits.lingerHttp1Ms, () => {
        end()
        if (!this.#endsConnection && !req.complete) req.socket.destroy()
      })
      const over = () => {
        timeout.clear()
        end()
      }
      req.once("end", over).once("close", over)
      req.on("data", (chunk: Buffer) => {
        left -= chunk.length + limits.chunkBytes
        if (left >= 0) return
        // Closing the connection at once could lose the answer that the client has not read yet.
        req.pause()
        stopReading(req.socket)
        end()
      })
      req.resume()
      return this
    }
  }
}

/** Creates the response class of an HTTP/2 server. */
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

/** Answers an HTTP/1.1 request that cannot be read, with the header fields of the other answers, and closes the connection. */
export type AnswerUnreadable = (socket: Duplex, status: number, error?: Error) => void

/**
 * Answers the malformed HTTP/1.1 requests of a server as Node does. Returns the function that answers one.
 *
 * @param onLargeHeader Called if a header is larger than the server's `maxHeaderSize`.
 */
export function answerClientErrors(
  server: http.Server,
  headers: ResponseHeaders,
  onLargeHeader?: () => void,
): AnswerUnreadable {
  const fields = Object.entries({ connection: "close", ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  const answer: AnswerUnreadable = (socket, status, error) => {
    // In the middle of another answer the client would read it as a part of that answer.
    const isAnswering = [...(unfinished.get(socket) ?? [])].some((response) => response.headersSent)
    if (socket.writable && !isAnswering)
      socket.write(`HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\n${fields.join("")}\r\n`)
    socket.destroy(error)
  }
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    if (error.code === "HPE_HEADER_OVERFLOW") onLargeHeader?.()
    answer(socket, statuses[error.code ?? ""] ?? 400, error)
  })
  return answer
}
