import type { IncomingMessage, ServerResponse } from "node:http"
import { limits } from "../limits.js"
import { mayFinish } from "./cut.js"

/**
 * What is answered before it is whole must not stay in the way of the connection's next request. A little of the rest is read
 * and thrown away; if that takes long, the connection is closed.
 */
export function endRequest(request: IncomingMessage, response: ServerResponse): void {
  // Before the listener of Node, which would read and throw away as much as comes.
  response.prependOnceListener("finish", () => {
    let left: number = mayFinish(response) ? Number.POSITIVE_INFINITY : limits.lingerHttp1Bytes
    // By a listener, which also takes over from a reader that lets go later.
    request
      .on("data", (chunk: Buffer) => {
        left -= chunk.length
        // Closed at once, the connection would take the answer along that the client has not read.
        if (left < 0) request.pause()
      })
      .resume()
    if (request.complete) return
    const { socket } = request
    setTimeout(() => request.complete || socket.destroy(), limits.lingerHttp1Ms)
  })
}
