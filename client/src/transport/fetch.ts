import { create, type DescMessage, type DescMethod, type DescMethodUnary } from "@bufbuild/protobuf"
import { Code, ConnectError, type Transport, type UnaryResponse } from "@connectrpc/connect"
import { createMethodUrl } from "@connectrpc/connect/protocol"
import { errorFromJsonBytes, requestHeader, trailerDemux, validateResponse } from "@connectrpc/connect/protocol-connect"
import { wrongOption } from "../errors/error.js"
import { explainTls, fetchAdvice } from "../errors/tls-error.js"
import { noStreams } from "./layer.js"
import { cancelled, parse, serialize } from "./message.js"
import { parseHttpUrl, type ServerAddress, serverOf } from "./options.js"

/** The address of the service's HTTP listener, and the `fetch` that calls it. */
export interface FetchOptions {
  /**
   * The URL of the service's HTTP listener: `http://host:port` or `https://host`, with a path prefix if a proxy adds
   * one. Required. The runtime verifies the TLS certificate: Node trusts its built-in authorities and those in the file
   * that NODE_EXTRA_CA_CERTS names.
   *
   * @example "https://authwire.example.com"
   */
  url: string
  /**
   * The function that sends the requests. Each request forbids caching, with the field `cache` if the runtime supports
   * it, and with the header `x-authwire-nonce`, whose value never repeats. It should end at the request's `signal`,
   * otherwise its requests may outlast their calls. Default: the global `fetch`.
   */
  fetch?: typeof globalThis.fetch | undefined
}

/**
 * Creates a Connect transport over `fetch` that uses the Connect protocol with binary messages, for runtimes without
 * another network API. The transport of `@connectrpc/connect-web` is not used, because its support for JSON would be a
 * quarter of the adapter's bundle, and because it reports an expired deadline as a cancellation in workerd.
 *
 * Supports unary methods only, see fetchStream: a streaming method fails with UNIMPLEMENTED.
 *
 * @throws AuthwireError with INVALID_ARGUMENT if an option is invalid.
 */
export function fetchTransport(options: FetchOptions): Transport {
  const { send, failureOf } = fetchSender(options)

  return {
    async unary(method, signal, timeoutMs, header, input) {
      if (signal?.aborted) throw cancelled(signal)
      const limitMs = timeoutMs !== undefined && timeoutMs > 0 ? timeoutMs : undefined
      const headers = requestHeader("unary", true, limitMs && Math.min(Math.ceil(limitMs), maxHeaderMs), header, false)
      const body = serialize(method.input, create(method.input, input))
      const ending = endOf(signal, limitMs)
      try {
        const answer = (async () => readAnswer(method, await send(method, headers, body, ending.signal)))()
        // A call ends in time even if the option `fetch` ignores the signal.
        return await Promise.race([answer, rejectionAt(ending.signal)])
      } catch (error) {
        // Cancels the rest of the response, which is not read.
        ending.abort(error)
        // The error of an aborted `fetch` has no status, and does not always tell why it was aborted.
        throw ending.reason ?? failureOf(error)
      } finally {
        ending.settle()
      }
    },
    stream: noStreams,
  }
}

/**
 * Returns the function that sends the requests, and the one that converts what it and the reading of a response throw.
 *
 * @throws AuthwireError with INVALID_ARGUMENT if an option is invalid.
 */
export function fetchSender({ url, fetch }: FetchOptions) {
  const baseUrl = parseHttpUrl(url, schemes)
  const security = { secure: baseUrl.protocol === "https:", hasCertificate: false, advice: fetchAdvice }
  if (fetch !== undefined && typeof fetch !== "function") throw wrongOption("fetch", "must be a function")
  // Redirects are not followed, because the request contains tokens. The service never redirects, so a redirect fails
  // the call.
  const fixed: RequestInit = { method: "POST", redirect: "manual", ...(cacheMode && { cache: cacheMode }) }

  return {
    send(method: DescMethod, headers: Headers, body: Uint8Array<ArrayBuffer>, signal: AbortSignal): Promise<Response> {
      headers.set("x-authwire-nonce", nonce())
      return (fetch ?? globalThis.fetch)(createMethodUrl(baseUrl, method), { ...fixed, headers, body, signal })
    },
    failureOf(error: unknown): ConnectError {
      if (error instanceof ConnectError) return error
      return explainTls(
        new ConnectError(networkMessage(error), Code.Unavailable, undefined, undefined, error),
        security,
      )
    },
  }
}

/**
 * Reads the response to a unary call of the Connect protocol (https://connectrpc.com/docs/protocol#unary-response). A
 * message is binary, an error is JSON.
 */
async function readAnswer<I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  response: Response,
): Promise<UnaryResponse<I, O>> {
  const { isUnaryError, unaryError } = validateResponse("unary", true, response.status, response.headers)
  const [header, trailer] = trailerDemux(response.headers)
  const body = new Uint8Array(await response.arrayBuffer())
  if (isUnaryError) throw errorFromJsonBytes(body, [...header, ...trailer], unaryError)
  return { stream: false, service: method.parent, method, header, trailer, message: parse(method.output, body) }
}

/** The longest timeout that the request header announces, in whole milliseconds as the service requires. */
const maxHeaderMs = 99_999_999

/** Returns the address of the service. */
export function fetchServer({ url }: FetchOptions): ServerAddress {
  return serverOf(parseHttpUrl(url, schemes))
}

const schemes = "http:// or https://"

/** Returns a promise that is rejected when a signal aborts. */
export function rejectionAt(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)))
}

/** Watches for the early end of a call, by cancellation or by its deadline. */
export function endOf(signal: AbortSignal | undefined, timeoutMs: number | undefined) {
  const controller = new AbortController()
  const abort = (reason: unknown) => controller.abort(reason)
  const ending = { signal: controller.signal, reason: undefined as ConnectError | undefined, abort, settle }
  const end = (reason: ConnectError) => {
    ending.reason = reason
    abort(reason)
  }
  const cancel = () => signal && end(cancelled(signal))
  const expire = () => end(new ConnectError("the operation timed out", Code.DeadlineExceeded))
  const timer = timeoutMs === undefined ? undefined : setTimeout(expire, Math.min(timeoutMs, 0x7fffffff))
  function settle(): void {
    clearTimeout(timer)
    signal?.removeEventListener("abort", cancel)
  }
  signal?.addEventListener("abort", cancel)
  return ending
}

/** Returns the message of an error of `fetch`, and its cause's. Neither is always an Error of this realm. */
function networkMessage(error: unknown): string {
  const message = messageOf(error) ?? "fetch failed"
  const why = messageOf((error as { cause?: unknown } | undefined)?.cause)
  return !why ? message : `${message}: ${why}`
}

function messageOf(error: unknown): string | undefined {
  const { message } = (error ?? {}) as { message?: unknown }
  return typeof message === "string" ? message : undefined
}

/**
 * The value of the `fetch` field `cache` that forbids caching, because a cached response would sign in a revoked
 * session. Undefined if the runtime does not accept the field: early versions of workerd throw if it is set.
 */
const cacheMode: RequestCache | undefined = findCacheMode()

function findCacheMode(): RequestCache | undefined {
  // Next.js throws at "no-store" under `fetchCache = "only-cache"`, and otherwise treats both values alike. Its bundler
  // inlines the value of the variable. Other runtimes may have no `process`.
  const mode = typeof process !== "undefined" && process.env.NEXT_RUNTIME ? "no-cache" : "no-store"
  try {
    return new Request("http://localhost", { cache: mode }).cache === mode ? mode : undefined
  } catch {
    return undefined
  }
}

/** The number of requests of this process. It distinguishes requests at the same instant. */
let requests = 0

/**
 * Returns a header value that never repeats. It is needed because `fetchCache = "force-cache"` of Next.js overrides
 * every value of `cache`, but the headers are part of its cache key. The value is based on the clock, because Next.js
 * stops prerendering a page that uses a random number. Another process could only create the same value at the same
 * moment.
 */
function nonce(): string {
  return `${performance.timeOrigin + performance.now()}-${++requests}`
}
