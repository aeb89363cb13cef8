import http2 from "node:http2"
import { Health, HealthCheckRequestSchema } from "@authwire/proto/health"
import { create, toBinary } from "@bufbuild/protobuf"
import { envelope } from "./generate/calls.ts"
import { pathOf } from "./generate/messages.ts"
import { patienceMs } from "./outcome.ts"
import type { Ports } from "./server-process.ts"

const pauseMs = 50
const request = envelope(toBinary(HealthCheckRequestSchema, create(HealthCheckRequestSchema)))

/** Asks for the server's health, again and again, until it is stopped: then it says how long the slowest answer took. */
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

/** How long an answer takes, in milliseconds; without one, for as long as a sender waits. */
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
