import http2 from "node:http2"
import { Health, HealthCheckRequestSchema } from "@authwire/proto/health"
import { create, toBinary } from "@bufbuild/protobuf"
import { envelope } from "./generate/calls.ts"
import { pathOf } from "./generate/messages.ts"
import { patienceMs } from "./outcome.ts"
import type { Ports } from "./server-process.ts"

const pauseMs = 50
const request = envelope(toBinary(HealthCheckRequestSchema, create(HealthCheckRequestSchema)))

/**
 * Checks the server's health repeatedly until `stop` is called. `stop` returns the longest time of an answer in
 * milliseconds.
 */
export function watchHealth(ports: Ports): { stop(): Promise<number> } {
  const stopped = new AbortController()
  let worstMs = 0
  const watching = async () => {
    const session = http2.connect(`http://127.0.0.1:${ports.grpc}`)
    session.on("error", () => {})
    while (!stopped.signal.aborted && !session.destroyed) {
      worstMs = Math.max(worstMs, await ask(session))
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
    session.destroy()
  }
  const watched = watching()
  return {
    async stop() {
      stopped.abort()
      await watched
      return worstMs
    },
  }
}

/** Returns the time of an answer in milliseconds, or `patienceMs` without a good answer. */
function ask(session: http2.ClientHttp2Session): Promise<number> {
  const start = performance.now()
  return new Promise((resolve) => {
    const stream = session.request({
      ":method": "POST",
      ":path": pathOf(Health.method.check),
      "content-type": "application/grpc",
      te: "trailers",
    })
    let healthy = false
    const timer = setTimeout(() => stream.close(http2.constants.NGHTTP2_CANCEL), patienceMs)
    stream.on("trailers", (trailers) => {
      healthy = trailers["grpc-status"] === "0"
    })
    stream.on("error", () => {})
    stream.on("close", () => {
      clearTimeout(timer)
      resolve(healthy ? performance.now() - start : patienceMs)
    })
    stream.resume()
    stream.end(request)
  })
}
