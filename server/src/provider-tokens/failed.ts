import { Failure } from "../rpc/errors.js"
import type { Outcome } from "./token-endpoint.js"

/** Why a refresh failed, as the store keeps it, and for how long it is not tried again, in milliseconds. */
export interface Failed {
  failure: string
  ms: number
}

/** How long a refresh token is not tried again that the provider has refused: it does not become good again. */
const refusedMs = 15 * 60_000
/** How long an operator's mistake stands, at the least. */
const clientMs = 60_000
/** How long a provider is left alone that gave no usable answer, where it does not say itself. */
const unavailableMs = 5_000

export function failedOf(outcome: Exclude<Outcome, { kind: "tokens" }>): Failed {
  if (outcome.kind === "refused") return { failure: "refused", ms: refusedMs }
  if (outcome.kind === "client") return { failure: `client:${outcome.oauthError}`, ms: clientMs }
  const { failure, retryAfterMs = 0 } = outcome
  return { failure: `unavailable:${failure}`, ms: Math.max(retryAfterMs, unavailableMs) }
}

/** What a caller is told. */
export function failureOf({ failure, ms }: Failed): Failure {
  const [kind, detail = ""] = failure.split(":", 2)
  if (kind === "refused") return new Failure("REFRESH_REFUSED", { retryAfterMs: ms })
  if (kind === "client") {
    return new Failure("CLIENT_REFUSED", { retryAfterMs: ms, metadata: { oauth_error: detail } })
  }
  return new Failure("PROVIDER_UNAVAILABLE", { retryAfterMs: ms, metadata: { failure: detail } })
}
