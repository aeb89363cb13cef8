import type { IncomingMessage, ServerResponse } from "node:http"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import type { ReadableStream } from "node:stream/web"
import { methods } from "./methods.js"

/** The service that a console is for. */
export interface Service {
  /** The address of its HTTP listener, such as `https://auth.example:8080`. */
  service: string
  /** Default: none, for a service that runs with `--dev`. */
  apiKey?: string | undefined
  /** The tenant that the key must belong to. With a key of another tenant no call is forwarded. Default: the tenant of the key. */
  tenant?: string | undefined
}

/** Why a call is not sent to the service, as an answer of Connect. */
export interface Objection {
  readonly status: number
  readonly code: string
  readonly message: string
}

/** What the state of a service is, for the page. */
export interface Readiness {
  service: string
  isReady: boolean
  /** What the service says about it, or why it cannot be asked. */
  detail: string
}

const requestHeaders = ["content-type", "connect-protocol-version", "connect-timeout-ms", "idempotency-key"]
const responseHeaders = ["content-type", "retry-after"]
const maxRequestBytes = 1024 * 1024

/**
 * Sends a call of the page to the service, with the API key, and its answer to the page.
 *
 * @param objection Returns why no call may be sent; undefined if calls may be sent.
 */
export async function forward(
  { service, apiKey, objection }: Service & { objection: () => Promise<Objection | undefined> },
  method: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (!methods.has(method)) return fail(response, 403, "permission_denied", "the console does not use this method")
  const abort = new AbortController()
  response.on("close", () => abort.abort())
  const headers = new Headers(
    requestHeaders.flatMap((name): [string, string][] => {
      const value = request.headers[name]
      return typeof value === "string" ? [[name, value]] : []
    }),
  )
  if (apiKey !== undefined) headers.set("authorization", `Bearer ${apiKey}`)
  let answer: Response
  try {
    const body = await bodyOf(request)
    if (body === undefined) return fail(response, 413, "resource_exhausted", "the request is too large")
    const found = await objection()
    if (found !== undefined) return fail(response, found.status, found.code, found.message)
    answer = await fetch(new URL(`/${method}`, service), {
      method: "POST",
      headers,
      body,
      redirect: "error",
      signal: abort.signal,
    })
  } catch (error) {
    if (abort.signal.aborted) return
    return fail(response, 503, "unavailable", `the service cannot be reached: ${reasonOf(error)}`)
  }
  response.statusCode = answer.status
  for (const name of responseHeaders) {
    const value = answer.headers.get(name)
    if (value !== null) response.setHeader(name, value)
  }
  response.flushHeaders()
  if (answer.body === null) return void response.end()
  // A stream ends when the page closes, or when the service ends it.
  await pipeline(Readable.fromWeb(answer.body as ReadableStream), response).catch(() => {})
}

/** Asks the service whether it is ready. */
export async function readiness({ service }: Service): Promise<Readiness> {
  try {
    const answer = await fetch(new URL("/readyz", service), { redirect: "error", signal: AbortSignal.timeout(5000) })
    return { service, isReady: answer.ok, detail: (await answer.text()).trim().slice(0, 1000) }
  } catch (error) {
    return { service, isReady: false, detail: `the service cannot be reached: ${reasonOf(error)}` }
  }
}

/** Reads the body of a request; undefined if it is too large. */
async function bodyOf(request: IncomingMessage): Promise<Buffer<ArrayBuffer> | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request) {
    size += chunk.length
    if (size > maxRequestBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Answers as a Connect service does, so that the page has one way to show errors. */
function fail(response: ServerResponse, status: number, code: string, message: string): void {
  response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify({ code, message }))
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  return cause instanceof Error ? ((cause as NodeJS.ErrnoException).code ?? cause.message) : String(cause)
}
