import { ReceiveSignalRequestSchema, type ReceiveSignalResponse } from "@authwire/proto"
import { create } from "@bufbuild/protobuf"
import type { Identity } from "../../auth/identity.js"
import { Failure, toFailure } from "../../errors/failure.js"
import type { Method } from "../../rpc/router.js"
import type { SignalVerifier } from "../../signals/verifier.js"
import { isObject, parsedJson } from "../../util/json.js"
import { utf8 } from "../../util/utf8.js"
import { markAdmitted } from "../closing/close-stream.js"
import { limits } from "../limits/limits.js"
import { RequestBody } from "../limits/request-body.js"
import { RequestUsage } from "../limits/request-usage.js"
import { signalRequests } from "../limits/signal-requests.js"
import { mediaType } from "../listener/content-type.js"
import { endAtOnce } from "./answer.js"
import type { HttpExchange } from "./exchange.js"

/** The address to which a provider sends its signals. */
export interface SignalTarget {
  readonly tenant: string
  readonly provider: string
}

/** Returns the target of a path `/v1/signals/TENANT/PROVIDER`; undefined for another one. */
export function signalTarget(path: string): SignalTarget | undefined {
  const [, tenant, provider] = /^\/v1\/signals\/([\w.-]{1,63})\/([\w.:-]{1,64})$/.exec(path) ?? []
  return tenant === undefined || provider === undefined ? undefined : { tenant, provider }
}

/** How a standard carries tokens over HTTP. */
interface Binding {
  /** Returns the token in a body; undefined if there is none. */
  tokenIn(body: string): string | undefined
  /** The status of a token that was taken. */
  readonly taken: number
  /** Returns the body of the answer to a token that was refused. */
  refusal(failure: string, description: string): object
  /** Whether a token that was received before is refused. */
  readonly refusesDuplicates: boolean
}

const oauthError = (_: string, description: string) => ({ error: "invalid_request", error_description: description })

const bindings = new Map<string, Binding>([
  [
    // OpenID Connect Back-Channel Logout 1.0, sections 2.5 and 2.8.
    "application/x-www-form-urlencoded",
    {
      tokenIn(body) {
        const [token, ...others] = new URLSearchParams(body).getAll("logout_token")
        return others.length > 0 ? undefined : token
      },
      taken: 200,
      refusal: oauthError,
      refusesDuplicates: true,
    },
  ],
  [
    // RFC 8935, sections 2.1 to 2.4. A transmitter repeats a token for whose first delivery it has got no answer.
    "application/secevent+jwt",
    {
      tokenIn: (body) => body.trim(),
      taken: 202,
      refusal: (err, description) => ({ err, description }),
      refusesDuplicates: false,
    },
  ],
  [
    // Apple's notifications.
    "application/json",
    {
      tokenIn(body) {
        const json = parsedJson(body)
        return isObject(json) && typeof json.payload === "string" ? json.payload : undefined
      },
      taken: 200,
      refusal: oauthError,
      refusesDuplicates: false,
    },
  ],
])

export interface SignalDelivery {
  /** Answers a request with a signal. */
  deliver(target: SignalTarget, exchange: HttpExchange): void
}

/**
 * Takes signals without a key, because each is signed: nothing but the limits of this file comes before the signature. After it,
 * a call of ReceiveSignal takes the token, as if a caller of that tenant with the scope had sent it.
 */
export function signalDelivery(options: { verifier: SignalVerifier; method: Method }): SignalDelivery {
  const { verifier, method } = options
  const requests = signalRequests()

  async function answerTo(target: SignalTarget, exchange: HttpExchange, token: string): Promise<ReceiveSignalResponse> {
    const request = create(ReceiveSignalRequestSchema, { provider: target.provider, token })
    await verifier.verify(target.tenant, request)
    const call = method.begin({
      transport: "http",
      timeoutMs: undefined,
      header: (name) => (name === "x-request-id" ? exchange.header(name) : undefined),
      connection: exchange.connection,
      identity: identityOf(target),
    })
    exchange.closing.once("close", () => call.cancel())
    markAdmitted(exchange.closing)
    try {
      return (await method.unary(() => request, call)) as ReceiveSignalResponse
    } finally {
      call.end()
    }
  }

  async function serve(target: SignalTarget, exchange: HttpExchange, binding: Binding, usage: RequestUsage) {
    const { request, response } = exchange
    const body = new RequestBody("stream" in request ? request.stream : request, usage)
    try {
      const token = binding.tokenIn(await textOf(body))
      if (token === undefined || token === "")
        throw new Failure("SIGNAL_REFUSED", { message: "the request has no token" })
      const { duplicate } = await answerTo(target, exchange, token)
      if (duplicate && binding.refusesDuplicates)
        throw new Failure("SIGNAL_REFUSED", { message: "the token was received before" })
      endAtOnce(response, binding.taken)
    } catch (error) {
      const { status, headers, refusal } = failureOf(error)
      const json = refusal && binding.refusal(...refusal)
      exchange.reject(
        status,
        { ...headers, ...(json && { "content-type": "application/json" }) },
        json && JSON.stringify(json),
      )
    } finally {
      body.discard()
    }
  }

  return {
    deliver(target, exchange) {
      const { request, response, connection, closing } = exchange
      if (!verifier.accepts(target.tenant, target.provider)) return exchange.reject(404)
      if (request.method !== "POST") return exchange.reject(405, { allow: "POST" })
      const binding = bindings.get(mediaType(exchange.header("content-type")) ?? "")
      if (binding === undefined) return exchange.reject(415, { accept: [...bindings.keys()].join(", ") })
      if (Number(exchange.header("content-length")) > limits.openRequestBytes) return exchange.reject(413)
      const slot = { cut: exchange.cut }
      const retryAfterMs = requests.enter(request.socket.remoteAddress ?? "", connection, slot)
      if (retryAfterMs > 0) return exchange.reject(429, retryAfter(retryAfterMs))
      const usage = new RequestUsage(connection, true, limits.signalMs, exchange.cut)
      closing.once("close", () => {
        usage.end()
        requests.leave(connection, slot)
      })
      // The client has disconnected and cannot receive an answer.
      serve(target, exchange, binding, usage).catch(() => response.destroy())
    },
  }
}

function identityOf({ tenant }: SignalTarget): Identity {
  return { keyId: undefined, tenant, hasScope: (scope) => scope === "signals:write" }
}

async function textOf(body: RequestBody): Promise<string> {
  const chunks: Uint8Array[] = []
  for (let chunk = await body.next(); chunk !== undefined; chunk = await body.next()) chunks.push(chunk)
  return utf8.decode(Buffer.concat(chunks))
}

/** Returns the answer to a token that was not taken. A provider may repeat one for which the service is not ready. */
function failureOf(thrown: unknown): {
  status: number
  headers?: Record<string, string>
  refusal?: [failure: string, description: string]
} {
  const { reason, metadata, message, retryAfterMs = 1_000 } = toFailure(thrown)
  if (reason === "SIGNAL_REFUSED") return { status: 400, refusal: [metadata.failure ?? "invalid_request", message] }
  if (reason === "PROVIDER_NOT_CONFIGURED" || reason === "API_KEY_INVALID") return { status: 404 }
  return { status: reason === "INTERNAL" ? 500 : 503, headers: retryAfter(retryAfterMs) }
}

function retryAfter(ms: number): Record<string, string> {
  return { "retry-after": String(Math.ceil(ms / 1000)) }
}
