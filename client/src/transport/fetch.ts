import { Code, ConnectError, type Interceptor, type Transport } from "@connectrpc/connect"
import { createConnectTransport } from "@connectrpc/connect-web"
import { wrongOption } from "../error.js"
import { parseHttpUrl } from "../options.js"
import { explainTls, fetchAdvice, type Security } from "./tls-error.js"
import { cacheMode, uniqueRequests } from "./uncached.js"

/** Where the service's HTTP listener is. */
export interface FetchOptions {
  /**
   * The service's HTTP listener: `http://host:port` or `https://host`, with a path in front of the service's own if a proxy
   * has one. Required. How TLS is checked is up to the runtime: Node trusts its own authorities and those in the file that
   * NODE_EXTRA_CA_CERTS names.
   *
   * @example "https://authwire.example.com"
   */
  url: string
  /**
   * The function that carries the requests. Each request says that nothing may be cached: by `cache`, where the runtime
   * knows it, and by the header `x-authwire-nonce`, which never repeats. Default: the global `fetch`.
   */
  fetch?: typeof globalThis.fetch | undefined
}

/**
 * A Connect transport over `fetch`: the Connect protocol with binary messages, for runtimes that have nothing else.
 *
 * @throws AuthwireError with INVALID_ARGUMENT if an option is wrong.
 */
export function fetchTransport(options: FetchOptions): Transport {
  const { url, fetch } = options
  const baseUrl = parseHttpUrl(url, schemes)
  const security = { secure: baseUrl.protocol === "https:", hasCertificate: false, advice: fetchAdvice }
  if (fetch !== undefined && typeof fetch !== "function") throw wrongOption("fetch", "must be a function")
  const fixed: RequestInit = { redirect: "manual", ...(cacheMode && { cache: cacheMode }) }
  return createConnectTransport({
    baseUrl: baseUrl.href,
    useBinaryFormat: true,
    interceptors: [networkErrors(security), uniqueRequests],
    // Never followed, since the request holds tokens. Connect asks for "error", which workerd rejects; a redirect that
    // is not followed fails as well, for it is no answer of the service.
    fetch: (input, init) => (fetch ?? globalThis.fetch)(input, { ...init, ...fixed }),
  })
}

/** Host and port of the service, for error messages. */
export function fetchAddress({ url }: FetchOptions): string {
  return parseHttpUrl(url, schemes).host
}

const schemes = "http:// or https://"

/** What `fetch` throws when it gets no answer has no status; Connect would call it UNKNOWN. */
const networkErrors =
  (security: Security): Interceptor =>
  (next) =>
  async (request) => {
    try {
      return await next(request)
    } catch (error) {
      if (error instanceof ConnectError || request.signal.aborted) throw error
      const unavailable = new ConnectError(networkMessage(error), Code.Unavailable, undefined, undefined, error)
      throw explainTls(unavailable, security)
    }
  }

/** Node says only "fetch failed", and why in the cause. Neither need be an Error of this realm. */
function networkMessage(error: unknown): string {
  const message = messageOf(error) ?? "fetch failed"
  const why = messageOf((error as { cause?: unknown } | undefined)?.cause)
  return !why ? message : `${message}: ${why}`
}

function messageOf(error: unknown): string | undefined {
  const { message } = (error ?? {}) as { message?: unknown }
  return typeof message === "string" ? message : undefined
}
