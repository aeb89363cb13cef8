import type { ServerHttp2Stream } from "node:http2"
import type { Connection } from "../limits/connection.js"

/**
 * Handles a request of HTTP/2 in its turn; see Connection.inTurns. One that its client resets before is not handled and counts as rejected,
 * at once: the first bytes of a connection may hold a thousand, of which Node creates the streams until the connection is closed.
 */
export function inTurn(connection: Connection, stream: ServerHttp2Stream, handle: () => void): void {
  let isDue = true
  const count = () => {
    if (isDue) connection.countUnauthenticated()
    isDue = false
  }
  connection.inTurns(() => {
    if (stream.closed) {
      stream.destroy()
      count()
      return
    }
    isDue = false
    handle()
  })
  if (isDue) stream.once("close", count)
}
