import { once } from "node:events"
import http from "node:http"
import type { Arrived } from "./application.js"

/** The result of a visit. */
export interface Visited {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly body: string
}

/** A request of a visitor. */
export interface Visit {
  readonly path?: string
  readonly method?: string
  /** Sent unchanged. A name may occur several times. */
  readonly headers?: readonly (readonly [name: string, value: string])[]
}

/** Sends one request to a proxy. */
export async function visit(url: string, { path = "/", method = "GET", headers = [] }: Visit): Promise<Visited> {
  const { host, hostname, port } = new URL(url)
  const hasHost = headers.some(([name]) => name === "host")
  const raw = [...(hasHost ? [] : [["host", host] as const]), ...headers].flat()
  // Not with fetch, which changes paths and joins headers.
  const request = http.request({ hostname, port, path, method, headers: raw as never, agent: false })
  request.end()
  const [response] = (await once(request, "response")) as [http.IncomingMessage]
  let body = ""
  for await (const chunk of response) body += chunk
  return { status: response.statusCode ?? 0, headers: response.headers, body }
}

/** The identity headers that the application received, under any name that it could mistake for one of them. */
export function told(visited: Visited): Record<string, string[]> {
  if (visited.status !== 200) throw new Error(`${visited.status}: ${visited.body}`)
  const { headers } = JSON.parse(visited.body) as Arrived
  const names = headers.map(([name]) => name).filter((name) => /^x[-_]auth/.test(name))
  return Object.fromEntries(
    names.map((name) => [name, headers.filter(([one]) => one === name).map(([, value]) => value)]),
  )
}
