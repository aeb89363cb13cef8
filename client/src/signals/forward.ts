import { AuthwireError } from "../errors/error.js"
import type { AuthwireClient } from "../exports.js"

/** What passes a token on. */
export type SignalClient = Pick<AuthwireClient, "signals">

/** The largest body of a signal, in bytes. The service takes no larger token. */
export const maxSignalBytes = 16_384

/** A request of a provider. */
export interface SignalRequest {
  /** The name of the provider in the providers file of the service. */
  readonly provider: string
  /** The header `content-type`. */
  readonly contentType: string | null | undefined
  /** The body, unless it is larger than `maxSignalBytes`. */
  readonly body: string | undefined
}

/** How a standard carries tokens over HTTP, by its content type. */
interface Binding {
  /** Returns the token in a body, if there is one. */
  tokenIn(body: string): string | null | undefined
  /** The status of a token that was taken. */
  readonly taken: number
  /** The name of the code in the answer to a token that was refused. */
  readonly code: "error" | "err"
  /** Whether a token that was received before is refused. */
  readonly refusesDuplicates: boolean
}

const bindings: Readonly<Record<string, Binding>> = {
  // OpenID Connect Back-Channel Logout 1.0, section 2.8.
  "application/x-www-form-urlencoded": {
    tokenIn: (body) => new URLSearchParams(body).get("logout_token"),
    ...{ taken: 200, code: "error", refusesDuplicates: true },
  },
  // RFC 8935, section 2.
  "application/secevent+jwt": {
    tokenIn: (body) => body.trim(),
    ...{ taken: 202, code: "err", refusesDuplicates: false },
  },
  // Apple's notifications.
  "application/json": {
    tokenIn: (body) => payloadOf(body),
    ...{ taken: 200, code: "error", refusesDuplicates: false },
  },
}

const noStore = { "cache-control": "no-store" }

/** Passes the token of a request on to the service, and returns the answer that the standard of the token demands. */
export async function forwardSignal(client: SignalClient, request: SignalRequest): Promise<Response> {
  const { provider, contentType, body } = request
  const type = (contentType ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? ""
  const binding = Object.hasOwn(bindings, type) ? bindings[type] : undefined
  if (binding === undefined) return new Response(null, { status: 415, headers: noStore })
  if (body === undefined) return new Response(null, { status: 413, headers: noStore })
  const refusal = (code: string, description: string) => {
    const answer =
      binding.code === "err" ? { err: code, description } : { error: "invalid_request", error_description: description }
    return Response.json(answer, { status: 400, headers: noStore })
  }
  const token = binding.tokenIn(body)
  if (!token) return refusal("invalid_request", "the request has no token")
  try {
    const { duplicate } = await client.signals.receiveSignal({ provider, token })
    if (duplicate && binding.refusesDuplicates) return refusal("invalid_request", "the token was received before")
    return new Response(null, { status: binding.taken, headers: noStore })
  } catch (error) {
    if (!(error instanceof AuthwireError)) throw error
    const { reason, code, metadata, message, retryAfterMs = 1_000 } = error
    if (reason === "SIGNAL_REFUSED") return refusal(metadata.failure ?? "invalid_request", message)
    if (code === "INVALID_ARGUMENT") return refusal("invalid_request", "the token cannot be read")
    if (reason === "PROVIDER_NOT_CONFIGURED") return new Response(null, { status: 404, headers: noStore })
    // The provider may send it again.
    const headers = { ...noStore, "retry-after": String(Math.ceil(retryAfterMs / 1000)) }
    return new Response(null, { status: 503, headers })
  }
}

function payloadOf(body: string): string | undefined {
  try {
    const { payload } = JSON.parse(body) as { payload?: unknown }
    return typeof payload === "string" ? payload : undefined
  } catch {
    return undefined
  }
}

/** Reads a body as text; undefined if it is too large. */
export async function signalBody(chunks: AsyncIterable<Uint8Array>): Promise<string | undefined> {
  const decoder = new TextDecoder()
  let text = ""
  let bytes = 0
  for await (const chunk of chunks) {
    bytes += chunk.length
    if (bytes > maxSignalBytes) return undefined
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}
