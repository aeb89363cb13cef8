import http2 from "node:http2"
import { Health, HealthCheckRequestSchema } from "@authwire/proto/health"
import { create, toBinary } from "@bufbuild/protobuf"
import { envelope } from "./generate/calls.ts"
import { pathOf } from "./generate/messages.ts"
import { patienceMs } from "./outcome.ts"
import type { Ports } from "./server-process.ts"

/** A connection that has shown no key may ask for health ten times a second (docs/limits.md). */
const pauseMs = 100
const request = envelope(toBinary(HealthCheckRequestSchema, create(HealthCheckRequestSchema)))

/** A check of health: its time in milliseconds, which is `patienceMs` if it failed, and how it failed. */
export interface HealthCheck {
  ms: number
  failure?: string
}

/** Checks the server's health repeatedly until `stop` is called, which returns the check that took the longest. */
export function watchHealth(ports: Ports): { stop(): Promise<HealthCheck> } {
  const stopped = new AbortController()
  let worst: HealthCheck = { ms: 0 }
  const watching = async () => {
    const session = http2.connect(`http://127.0.0.1:${ports.grpc}`)
    session.on("error", () => {})
    while (!stopped.signal.aborted) {
      const check = await ask(session)
      if (check.ms > worst.ms) worst = check
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
    session.destroy()
  }
  const watched = watching()
  return {
    async stop() {
      stopped.abort()
      await watched
      return worst
    },
  }
}

function ask(session: http2.ClientHttp2Session): Promise<HealthCheck> {
  if (session.destroyed) return Promise.resolve({ ms: patienceMs, failure: "its connection is closed" })
  const start = performance.now()
  return new Promise((resolve) => {
    const stream = session.request({
      ":method": "POST",
      ":path": pathOf(Health.method.check),
      "content-type": "application/grpc",
      te: "trailers",
    })
    let end = "no status"
    const timer = setTimeout(() => stream.close(http2.constants.NGHTTP2_CANCEL), patienceMs)
    const onStatus = (headers: http2.IncomingHttpHeaders) => {
      if ("grpc-status" in headers)
        end = `status ${headers["grpc-status"]} ${decodeURI(String(headers["grpc-message"] ?? ""))}`.trim()
    }
    stream.on("response", onStatus)
    stream.on("trailers", onStatus)
    stream.on("error", (error) => {
      end = error.message
    })
    stream.on("close", () => {
      clearTimeout(timer)
      const ms = performance.now() - start
      resolve(end === "status 0" ? { ms } : { ms: patienceMs, failure: `${end}, after ${Math.round(ms)} ms` })
    })
    stream.resume()
    stream.end(request)
  })
}
