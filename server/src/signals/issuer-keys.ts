import { createRemoteJWKSet, customFetch, errors, type JWTVerifyGetKey } from "jose"
import {
  allowInsecureRequests,
  discoveryRequest,
  customFetch as fetchOfDiscovery,
  processDiscoveryResponse,
} from "oauth4webapi"
import { Failure } from "../errors/failure.js"
import { boundedBody } from "../provider-tokens/bounded-body.js"
import { isAllowedUrl } from "../provider-tokens/providers-file.js"

/** After how long the keys are read again, in milliseconds: when they are used, and when a token names an unknown one. */
const [keysMs, unknownKeyMs] = [600_000, 60_000]
/** How long the issuer is not asked after a failure, in milliseconds, as long as no keys of it are known. */
const failurePauseMs = 5_000

export interface IssuerKeysOptions {
  issuer: string
  /** The time that the issuer may take for an answer, in milliseconds. */
  timeoutMs: number
  /** A clock for durations, in milliseconds. */
  clock: () => number
}

/**
 * Returns the keys of an issuer, which OpenID Connect Discovery finds. They are read when the first token is verified. The
 * requests are limited like those to token endpoints: `https:`, or `http:` on loopback, no redirect, and an answer of a bounded
 * size. Throws PROVIDER_UNAVAILABLE if the keys cannot be read, and the errors of jose about the token.
 */
export function issuerKeys({ issuer, timeoutMs, clock }: IssuerKeysOptions): JWTVerifyGetKey {
  let pausedUntil = Number.NEGATIVE_INFINITY
  let keys: ReturnType<typeof createRemoteJWKSet> | undefined
  let opening: Promise<void> | undefined

  async function request(url: string, init: { method: string; headers: Headers | Record<string, string> }) {
    const retryAfterMs = pausedUntil - clock()
    if (retryAfterMs > 0) throw new Failure("PROVIDER_UNAVAILABLE", { retryAfterMs, metadata: { failure: "paused" } })
    if (!isAllowedUrl(url)) throw new Error("the issuer names an address that is not allowed")
    const { method, headers } = init
    const response = await fetch(url, { method, headers, redirect: "manual", signal: AbortSignal.timeout(timeoutMs) })
    const body = response.status === 200 ? await boundedBody(response) : undefined
    if (body === undefined) throw new Error("the issuer gives no answer, or one that is too large")
    return new Response(body, { headers: { "content-type": "application/json" } })
  }

  async function open(): Promise<void> {
    const url = new URL(issuer)
    const response = await discoveryRequest(url, {
      [fetchOfDiscovery]: (address, { method, headers }) => request(address, { method, headers }),
      [allowInsecureRequests]: url.protocol === "http:",
    })
    const { jwks_uri: address = "" } = await processDiscoveryResponse(url, response)
    keys = createRemoteJWKSet(new URL(address), {
      cacheMaxAge: keysMs,
      cooldownDuration: unknownKeyMs,
      timeoutDuration: timeoutMs,
      [customFetch]: request,
    })
  }

  return async (header, token) => {
    try {
      if (keys === undefined) {
        opening ??= open().finally(() => {
          opening = undefined
        })
        await opening
      }
      return await (keys as unknown as JWTVerifyGetKey)(header, token)
    } catch (error) {
      if (isAboutToken(error) || error instanceof Failure) throw error
      // Of all tokens that arrive meanwhile, whoever has sent them, none causes a request.
      const pauseMs = keys?.jwks() === undefined ? failurePauseMs : unknownKeyMs
      pausedUntil = clock() + pauseMs
      throw new Failure("PROVIDER_UNAVAILABLE", { cause: error, retryAfterMs: pauseMs, metadata: { failure: "keys" } })
    }
  }
}

function isAboutToken(error: unknown): boolean {
  return (
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWKSMultipleMatchingKeys ||
    error instanceof errors.JOSENotSupported
  )
}
