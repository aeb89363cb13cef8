import { readHeaders, trim } from "./request-headers.js"
import { sessionTokens } from "./session-cookie.js"

/**
 * The credential of a session in a request: the session cookie, or else the header `Authorization: Bearer`.
 *
 * `tokens` holds the candidates for the session token, the most likely first. It is never empty. It usually has one
 * element, and several if cookies of an earlier session are left over.
 */
export type SessionCredential =
  | {
      from: "cookie"
      /** The name of the cookie, without a chunk number. */
      cookieName: string
      /** Whether the first token comes from the cookie `cookieName` itself and not from chunks. */
      isWhole: boolean
      tokens: string[]
    }
  | { from: "bearer"; tokens: string[] }

/**
 * Finds the session credential of a request without decoding it. It may be the token of a database session, a JWT, or
 * any text that a client made up. Returns undefined if the request has no credential. No header makes it throw.
 *
 * @param headers - See GetTokenParams.req. Only `Cookie` and `Authorization` are read.
 * @param cookieNames - The possible names of the session cookie. The first name that the request has is used, the
 * others are ignored.
 * @example
 * ```ts
 * const credential = findSessionCredential(request.headers, [sessionCookieName(true), sessionCookieName(false)])
 * ```
 */
export function findSessionCredential(
  headers: Headers | Record<string, string>,
  cookieNames: readonly string[],
): SessionCredential | undefined {
  const { cookie, authorization } = readHeaders(headers)
  const cookies = parseCookies(cookie)
  for (const cookieName of cookieNames) {
    const tokens = sessionTokens(cookies, cookieName)
    if (tokens.length > 0) return { from: "cookie", cookieName, isWhole: !!cookies.get(cookieName), tokens }
  }
  const token = bearerToken(authorization)
  return token ? { from: "bearer", tokens: [token] } : undefined
}

// String.prototype.trim would remove more characters.
const blanks = " \t"

/**
 * Parses a Cookie header into a map from names to values, as Auth.js does. Of several cookies with the same name the
 * first counts. Quotes are part of the value. Percent-encoding is decoded, but a value with malformed percent-encoding
 * is left unchanged.
 */
export function parseCookies(header: string): Map<string, string> {
  const cookies = new Map<string, string>()
  for (const pair of header.split(";")) {
    const equals = pair.indexOf("=")
    if (equals === -1) continue
    const name = trim(pair.slice(0, equals), blanks)
    if (!cookies.has(name)) cookies.set(name, percentDecoded(trim(pair.slice(equals + 1), blanks)))
  }
  return cookies
}

function percentDecoded(value: string): string {
  if (!value.includes("%")) return value
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}

/**
 * Returns the token of an Authorization header `Bearer <token>`, percent-decoded as in Auth.js, or undefined. The
 * scheme must have exactly this case and be followed by one space, because Auth.js accepts no other form.
 */
function bearerToken(authorization: string): string | undefined {
  const [scheme, credentials] = authorization.split(" ", 2)
  if (scheme !== "Bearer" || !credentials) return undefined
  try {
    return decodeURIComponent(credentials)
  } catch {
    return undefined
  }
}
