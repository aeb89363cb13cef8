import { once } from "node:events"
import http2 from "node:http2"
import { listen } from "./free-port.js"

/** How a proxy treats a pipeline. */
export type Passage =
  /** Forwards it. */
  | "passed"
  /** Responds like a service that does not have the method. */
  | "unknown"
  /** Accepts it and never responds. */
  | "swallowed"
  /** Accepts it and sends a message that is not one of the schema. */
  | "garbled"
  /** Responds with a page of this HTTP status. */
  | number

/** An HTTP/2 proxy in front of a gRPC server. It forwards unary calls, and treats pipelines as `passage` says. */
export interface Http2Proxy {
  readonly url: string
  /** Sets the server to which the next pipelines and other calls are forwarded. */
  moveTo(serverUrl: string): void
  /** How the next pipelines are treated. */
  passage: Passage
  /** The number of pipelines and of other calls that arrived. */
  readonly counts: { pipelines: number; others: number }
  /** Ends the open pipelines (`reset`) or all connections. */
  cut(by: "reset" | "goaway" | "close"): void
  close(): Promise<void>
}

export async function http2Proxy(serverUrl: string): Promise<Http2Proxy> {
  const counts = { pipelines: 0, others: 0 }
  const sessions = new Set<http2.ServerHttp2Session>()
  const pipelines = new Set<http2.ServerHttp2Stream>()
  const upstreams: http2.ClientHttp2Session[] = []
  const moveTo = (url: string) => {
    upstreams.unshift(http2.connect(url).on("error", () => {}))
  }
  moveTo(serverUrl)

  const pass = (near: http2.ServerHttp2Stream, headers: http2.IncomingHttpHeaders) => {
    const far = (upstreams[0] as http2.ClientHttp2Session).request(headers)
    far.on("response", (answer, flags) => {
      if (near.destroyed) return
      const isWhole = (flags & http2.constants.NGHTTP2_FLAG_END_STREAM) !== 0
      near.respond(answer, isWhole ? { endStream: true } : { waitForTrailers: true })
    })
    let trailers: http2.IncomingHttpHeaders = {}
    far.on("trailers", (end) => {
      trailers = end
    })
    near.on("wantTrailers", () => near.sendTrailers(trailers))
    far.on("error", () => near.close(http2.constants.NGHTTP2_INTERNAL_ERROR))
    near.on("error", () => far.close(http2.constants.NGHTTP2_CANCEL))
    near.on("close", () => far.close(http2.constants.NGHTTP2_CANCEL))
    near.pipe(far)
    far.pipe(near)
  }

  const server = http2.createServer()
  server.on("session", (session) => {
    sessions.add(session)
    session.on("error", () => {})
    session.on("close", () => sessions.delete(session))
  })
  server.on("stream", (stream, headers) => {
    if (headers[":path"] !== "/authwire.v1.PipelineService/Pipeline") {
      counts.others++
      pass(stream, headers)
      return
    }
    counts.pipelines++
    const { passage } = proxy
    stream.on("error", () => {})
    if (passage === "passed") {
      pipelines.add(stream)
      stream.on("close", () => pipelines.delete(stream))
      pass(stream, headers)
    } else if (passage === "unknown") {
      const trailers = { "grpc-status": "12", "grpc-message": "unknown method" }
      stream.respond({ ":status": 200, "content-type": "application/grpc", ...trailers }, { endStream: true })
    } else if (passage === "swallowed") stream.resume()
    else if (passage === "garbled") {
      stream.respond({ ":status": 200, "content-type": "application/grpc" })
      stream.write(Buffer.from([0, 0, 0, 0, 2, 0xff, 0xff]))
    } else {
      stream.respond({ ":status": passage, "content-type": "text/html" })
      stream.end("<h1>Something is wrong</h1>")
    }
  })
  const proxy: Http2Proxy = {
    url: `http://127.0.0.1:${await listen(server)}`,
    passage: "passed",
    counts,
    moveTo,
    cut(by) {
      if (by === "reset") for (const stream of pipelines) stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR)
      else if (by === "goaway") {
        // A session whose client has just left is destroyed a moment before its close event.
        for (const session of sessions) if (!session.destroyed) session.goaway(http2.constants.NGHTTP2_NO_ERROR)
      } else for (const session of sessions) session.destroy()
    },
    async close() {
      const closed = once(server, "close")
      server.close()
      for (const session of sessions) session.destroy()
      for (const upstream of upstreams) upstream.destroy()
      await closed
    },
  }
  return proxy
}
