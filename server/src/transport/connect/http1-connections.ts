import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { type PeerTimeout, peerTimeout } from "../../util/peer-timeout.js"
import { limits } from "../limits/limits.js"
import type { ConnectHandler } from "./handler.js"
import { boundParsing } from "./http1-parser.js"
import { answerClientErrors, type ResponseHeaders } from "./response-headers.js"

/** The connections of HTTP/1.1, which the HTTP listener hands to a server of Node that itself does not listen. */
export interface Http1Connections {
  accept(socket: Socket): void
  /** Closes the connections on which no request waits for its answer. */
  closeIdle(): void
}

/** What is known of one connection. */
interface State {
  /** The requests whose answers are not finished. */
  unfinished: number
  /** The timeout for the header of the next request. */
  timeout: PeerTimeout
}

/**
 * @param options.headerTimeoutMs The longest time in which the first header must arrive, in milliseconds. For a later one the
 *   time between two requests is added.
 */
export function http1Connections(options: {
  server: Server
  headers: ResponseHeaders
  headerTimeoutMs: number
  handler: ConnectHandler
  /** Called if a header is larger than the `maxHeaderSize` of the server. */
  onLargeHeader: () => void
}): Http1Connections {
  const { server, headers, headerTimeoutMs, handler } = options
  const answerUnreadable = answerClientErrors(server, headers, options.onLargeHeader)
  const states = new Map<Socket, State>()
  const expectHeader = (socket: Socket, ms: number) => peerTimeout(ms, () => answerUnreadable(socket, 408))

  const counted = (serve: ConnectHandler["serve"]) => (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request
    const state = states.get(socket)
    if (state !== undefined) {
      state.timeout.clear()
      state.unfinished++
      response.once("close", () => {
        state.unfinished--
        if (state.unfinished > 0 || !states.has(socket)) return
        state.timeout = expectHeader(socket, server.keepAliveTimeout + headerTimeoutMs)
      })
    }
    serve(request, response)
  }
  server.on("request", counted(handler.serve))
  server.on("checkExpectation", counted(handler.rejectWith(417)))
  // With this listener Node does not close the connection of a stream that is only silent for a while. It is also called
  // when the keep-alive timeout has passed.
  server.timeout = limits.socketMs
  server.on("timeout", (socket) => {
    const before = states.get(socket)?.timeout
    peerTimeout(0, () => {
      const state = states.get(socket)
      const isIdle = state?.unfinished === 0 && state.timeout === before
      if (isIdle || socket.writableLength > 0) socket.destroy()
    })
  })

  return {
    accept(socket) {
      const state = { unfinished: 0, timeout: expectHeader(socket, headerTimeoutMs) }
      states.set(socket, state)
      socket.once("close", () => {
        states.delete(socket)
        state.timeout.clear()
      })
      server.emit("connection", socket)
      boundParsing(socket)
    },
    closeIdle() {
      for (const [socket, { unfinished }] of states) if (unfinished === 0) socket.destroy()
    },
  }
}
