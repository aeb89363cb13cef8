import { createServer } from "node:http"
import { listen } from "@authwire/test-support/connections/free-port.js"

/** A request that reached the application. */
export interface Arrived {
  readonly method: string
  readonly url: string
  /** Names and values as received. A name may occur several times. */
  readonly headers: readonly (readonly [name: string, value: string])[]
}

/** An application behind a gateway, which responds to every request with the content of the request. */
export interface Application {
  readonly port: number
  readonly arrived: Arrived[]
  close(): void
}

export async function startApplication(): Promise<Application> {
  const arrived: Arrived[] = []
  // As an application with large cookies: the default of Node is 16 KiB.
  const server = createServer({ maxHeaderSize: 64 * 1024 }, (request, response) => {
    const { rawHeaders } = request
    const headers = rawHeaders.flatMap((name, at) =>
      at % 2 === 0 ? [[name.toLowerCase(), rawHeaders[at + 1] ?? ""] as const] : [],
    )
    const one = { method: request.method ?? "", url: request.url ?? "", headers }
    arrived.push(one)
    response.setHeader("content-type", "application/json")
    response.end(JSON.stringify(one))
  })
  return {
    port: await listen(server),
    arrived,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
