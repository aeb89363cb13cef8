import { TokenExpired, TokenMalformed, TokenNotYetValid } from "./errors/error.js"

/**
 * The tolerance for clock differences, in seconds, as in Auth.js. RFC 7519, section 4.1.4: "Implementers MAY provide
 * for some small leeway, usually no more than a few minutes, to account for clock skew."
 */
const tolerance = 15

type Claims = Record<string, unknown>

/**
 * Parses the claims of a JSON text and checks that they are valid at a time.
 *
 * @param time - in milliseconds since 1970
 * @throws TokenMalformed if they are not a JSON object, or a time is not a number.
 * @throws TokenNotYetValid if `nbf` is more than 15 seconds in the future.
 * @throws TokenExpired if `exp` is 15 seconds or more in the past.
 */
export function readClaims(text: string, time: number): Claims {
  const claims = jsonObject(text)
  const now = Math.floor(time / 1000)
  timeOf(claims, "iat")
  const nbf = timeOf(claims, "nbf")
  if (nbf !== undefined && nbf > now + tolerance) throw new TokenNotYetValid()
  const exp = timeOf(claims, "exp")
  if (exp !== undefined && exp <= now - tolerance) throw new TokenExpired()
  return claims
}

/**
 * Checks that claims that are repeated in the header equal those of the content. RFC 7519, section 5.3: "If such
 * replicated Claims are present, the application receiving them SHOULD verify that their values are identical". An
 * audience may be a list.
 *
 * @throws TokenMalformed if the header contradicts the claims.
 */
export function checkReplicated(claims: Claims, { iss, sub, aud }: Claims): void {
  if (iss !== undefined && iss !== claims.iss) throw new TokenMalformed()
  if (sub !== undefined && sub !== claims.sub) throw new TokenMalformed()
  if (aud !== undefined && !isSameJson(aud, claims.aud)) throw new TokenMalformed()
}

/** Parses a JSON object. Of members with the same name the last counts (RFC 7519, section 4). */
function jsonObject(text: string): Claims {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new TokenMalformed()
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new TokenMalformed()
  return value as Claims
}

/** Compares two values by their JSON. What is nested too deeply for JSON.stringify equals nothing. */
function isSameJson(one: unknown, other: unknown): boolean {
  try {
    return JSON.stringify(one) === JSON.stringify(other)
  } catch {
    return false
  }
}

function timeOf(claims: Claims, name: "exp" | "iat" | "nbf"): number | undefined {
  const time = claims[name]
  if (time !== undefined && typeof time !== "number") throw new TokenMalformed()
  return time
}
