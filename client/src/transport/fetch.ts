import { create, type DescMessage, type MessageShape, toBinary } from "@bufbuild/protobuf"
import { Code, ConnectError, type Transport } from "@connectrpc/connect"
import { createMethodUrl } from "@connectrpc/connect/protocol"
import { requestHeader } from "@connectrpc/connect/protocol-connect"
import { wrongOption } from "../error.js"
import { parseHttpUrl } from "../options.js"
import { readAnswer } from "./connect-answer.js"
import { explainTls, fetchAdvice } from "./tls-error.js"
import { cacheMode, nonce } from "./uncached.js"

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
 * A Connect transport over `fetch`: the Connect protocol with binary messages, for runtimes that have nothing else. That of
 * `@connectrpc/connect-web` speaks JSON too, which would be a quarter of the adapter's bundle, and takes a deadline for a
 * cancellation in workerd.
 *
 * Unary methods only: a streaming method fails with UNIMPLEMENTED.
 *
 * @throws AuthwireError with INVALID_ARGUMENT if an option is wrong.
 */
export function fetchTransport(options: FetchOptions): Transport {
  const { url, fetch } = options
  const baseUrl = parseHttpUrl(url, schemes)
  const security = { secure: baseUrl.protocol === "https:", hasCertificate: false, advice: fetchAdvice }
  if (fetch !== undefined && typeof fetch !== "function") throw wrongOption("fetch", "must be a function")
  // Never followed, since the request holds tokens: a redirect is no answer of the service, and fails.
  const fixed: RequestInit = { method: "POST", redirect: "manual", ...(cacheMode && { cache: cacheMode }) }

  return {
    async unary(method, signal, timeoutMs, header, input) {
      if (signal?.aborted) throw cancelled(signal)
      const limitMs = timeoutMs !== undefined && timeoutMs > 0 ? timeoutMs : undefined
      const headers = requestHeader("unary", true, limitMs && Math.min(Math.ceil(limitMs), maxHeaderMs), header, false)
      headers.set("x-authwire-nonce", nonce())
      const body = serialize(method.input, create(method.input, input))
      const ending = endOf(signal, limitMs)
      try {
        const request = { ...fixed, headers, body, signal: ending.signal }
        return await readAnswer(method, await (fetch ?? globalThis.fetch)(createMethodUrl(baseUrl, method), request))
      } catch (error) {
        // Nobody reads what is left of the response.
        ending.abort(error)
        // What `fetch` throws when it gets no answer has no status, and need not say why it was aborted.
        if (ending.reason !== undefined) throw ending.reason
        if (error instanceof ConnectError) throw error
        const unavailable = new ConnectError(networkMessage(error), Code.Unavailable, undefined, undefined, error)
        throw explainTls(unavailable, security)
      } finally {
        ending.settle()
      }
    },
    async stream(method) {
      throw new ConnectError(`${method.name} is a streaming method: this transport has none`, Code.Unimplemented)
    },
  }
}

/** The longest deadline that the header says: the service takes whole milliseconds. */
const maxHeaderMs = 99_999_999

/** Host and port of the service, for error messages. */
export function fetchAddress({ url }: FetchOptions): string {
  return parseHttpUrl(url, schemes).host
}

const schemes = "http:// or https://"

/** A message that breaks the schema is rejected as it is over gRPC. */
function serialize<I extends DescMessage>(schema: I, message: MessageShape<I>) {
  try {
    return toBinary(schema, message)
  } catch (error) {
    throw ConnectError.from(error, Code.InvalidArgument)
  }
}

function cancelled(signal: AbortSignal): ConnectError {
  return ConnectError.from(signal.reason, Code.Canceled)
}

/** The end of a call before its answer: it is cancelled, or its deadline passes. */
function endOf(signal: AbortSignal | undefined, timeoutMs: number | undefined) {
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
