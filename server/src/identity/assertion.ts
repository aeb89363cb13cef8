import type { JWTPayload } from "jose"
import type { RequestSession } from "../introspection/request-session.js"

/** How long an assertion is valid, in seconds, unless the session ends before. */
const lifeSeconds = 60
/** By how much the clocks of verifiers may be behind, in seconds. Some reject what was issued in their future. */
const skewSeconds = 5

export interface AssertionOptions {
  /** The URL of the service, without a slash at its end. */
  issuer: string
  /** The tenant of the user. */
  tenant: string
  /** The backend that is to accept the assertion. */
  audience: string
  /** The time, in milliseconds since 1970-01-01T00:00:00Z. */
  now: number
}

/**
 * Returns the claims that tell a backend who has sent a request. `iss` has the tenant after the issuer, because the keys
 * sign for all tenants, and the ids of users are unique only within theirs.
 */
export function assertionOf(
  { userId, sessionId, expires, user, claims }: RequestSession,
  { issuer, tenant, audience, now }: AssertionOptions,
): JWTPayload {
  const iat = Math.floor(now / 1000) - skewSeconds
  const email = user === undefined ? claims?.email : user.email
  return {
    iss: `${issuer}/${tenant}`,
    aud: audience,
    sub: userId,
    ...(sessionId !== undefined && { sid: sessionId }),
    ...(typeof email === "string" && { email }),
    // Only the stored user has it. OpenID Connect Core 1.0, section 5.1.
    ...(user?.email !== undefined && { email_verified: user.emailVerified != null }),
    iat,
    exp: Math.min(iat + lifeSeconds, Math.floor(expires.getTime() / 1000)),
  }
}
