import type { IncomingMessage, ServerResponse } from "node:http"
import { limits } from "../limits/limits.js"
import { isAdmitted } from "./close-stream.js"

/**
 * Discards the rest of a request that is answered before it is complete, so that it does not block the connection's
 * next request. Only a little is read. If that takes too long, the connection is closed.
 */
export function endRequest(request: IncomingMessage, response: ServerResponse): void {
  // Runs before Node's own listener, which would read and discard an unlimited amount.
  response.prependOnceListener("finish", () => {
    let left: number = isAdmitted(response) ? Number.POSITIVE_INFINITY : limits.lingerHttp1Bytes
    // A listener, because it also takes over when another reader stops later.
    request
      .on("data", (chunk: Buffer) => {
        left -= chunk.length
        // Closing the connection at once could lose the answer that the client has not read yet.
        if (left < 0) request.pause()
      })
      .resume()
    if (request.complete) return
    const { socket } = request
    setTimeout(() => request.complete || socket.destroy(), limits.lingerHttp1Ms)
  })
}
