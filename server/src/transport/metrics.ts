import http from "node:http"
import { answerClientErrors, http1Response, securityHeaders } from "./connect/response-headers.js"
import { limits } from "./limits/limits.js"
import { listen } from "./listener/listen.js"
import type { Listener, ListenerOptions } from "./listener/listener.js"
import { foreignName, namesLoopback } from "./listener/loopback-names.js"

/** The content type of the text format of Prometheus. */
const contentType = "text/plain; version=0.0.4; charset=utf-8"

export interface MetricsListenerOptions
  extends Pick<ListenerOptions, "address" | "loopbackNames" | "maxConnections" | "handshakeTimeoutMs" | "log"> {
  /** Returns the current metrics as text. */
  read: () => Promise<string>
}

/** Opens the Prometheus listener: `GET /metrics`, without TLS or a key. Rejects as `listen` does. */
export async function openMetricsListener(options: MetricsListenerOptions): Promise<Listener> {
  const { read, handshakeTimeoutMs, log } = options
  const server = http.createServer({
    headersTimeout: handshakeTimeoutMs,
    requestTimeout: handshakeTimeoutMs,
    // Node checks every 30 s by default.
    connectionsCheckingInterval: Math.min(handshakeTimeoutMs, 5_000),
    // Tells the client to close the connection after each answer. A client that polls without pause must then reconnect
    // each time, and Node accepts only one connection per turn of the event loop.
    ServerResponse: http1Response(securityHeaders, () => true),
  })
  // Closes connections whose clients read nothing of the data that is queued for them.
  server.timeout = limits.socketMs
  answerClientErrors(server, securityHeaders)
  // Requests need no key and have no rate limit, so concurrent requests share one reading.
  let reading: Promise<string> | undefined
  const readOnce = () => {
    reading ??= read().finally(() => {
      reading = undefined
    })
    return reading
  }
  server.on("request", async (request, response) => {
    const answer = (code: number, text: string, headers: http.OutgoingHttpHeaders = {}) =>
      response.writeHead(code, { "content-type": "text/plain; charset=utf-8", ...headers }).end(text)
    if (options.loopbackNames && !namesLoopback(request.headers)) return answer(403, `${foreignName}\n`)
    if (request.url?.split("?", 1)[0] !== "/metrics") return answer(404, "there is only /metrics\n")
    if (request.method !== "GET" && request.method !== "HEAD") {
      return answer(405, "only GET\n", { allow: "GET, HEAD" })
    }
    try {
      answer(200, await readOnce(), { "content-type": contentType })
    } catch (err) {
      log.error({ err }, "metrics could not be read")
      answer(500, "metrics could not be read; see the log\n")
    }
  })
  const listener = await listen(server, { ...options, reusePort: false })
  return {
    address: listener.address,
    stopAccepting: listener.stop,
    closed: listener.closed,
  }
}
