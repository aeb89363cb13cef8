import type { Octets } from "./base64url.js"
import { TokenMalformed } from "./error.js"

const strictUtf8 = new TextDecoder("utf-8", { fatal: true })

/**
 * The JSON object that octets are in UTF-8. Of members with one name the last counts: a parser must refuse them, or do
 * just that (RFC 7516, section 4, and RFC 7519, section 4).
 *
 * @throws TokenMalformed if they are something else.
 */
export function jsonObject(octets: Octets): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(strictUtf8.decode(octets))
  } catch {
    throw new TokenMalformed()
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new TokenMalformed()
  return value as Record<string, unknown>
}
