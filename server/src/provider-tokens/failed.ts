import { Failure } from "../errors/failure.js"
import type { Outcome } from "./token-endpoint.js"

/**
 * The reason why a refresh failed, as the store keeps it, and the time until it may be tried again, in milliseconds.
 * `refreshToken` is a new refresh token that is stored with it.
 */
export interface Failed {
  failure: string
  ms: number
  refreshToken?: string | undefined
}

/**
 * How long a refresh token is not tried again after the provider refused it, in milliseconds. It does not become valid
 * again.
 */
const refusedMs = 15 * 60_000
/** How long a refresh is not tried again after a misconfiguration, in milliseconds. */
const clientMs = 60_000
/**
 * The minimum time without a further request after the provider gave no usable answer, in milliseconds. The provider
 * may ask for a longer one.
 */
const unavailableMs = 5_000

export function failedOf(outcome: Exclude<Outcome, { kind: "tokens" }>): Failed {
  if (outcome.kind === "refused") return { failure: "refused", ms: refusedMs }
  if (outcome.kind === "client") return { failure: `client:${outcome.oauthError}`, ms: clientMs }
  const { failure, retryAfterMs = 0, refreshToken } = outcome
  return { failure: `unavailable:${failure}`, ms: Math.max(retryAfterMs, unavailableMs), refreshToken }
}

/** Returns the failure that the caller receives. */
export function failureOf({ failure, ms }: Failed): Failure {
  const [kind, detail = ""] = failure.split(":", 2)
  if (kind === "refused") return new Failure("REFRESH_REFUSED", { retryAfterMs: ms })
  if (kind === "client") {
    return new Failure("CLIENT_REFUSED", { retryAfterMs: ms, metadata: { oauth_error: detail } })
  }
  return new Failure("PROVIDER_UNAVAILABLE", { retryAfterMs: ms, metadata: { failure: detail } })
}
