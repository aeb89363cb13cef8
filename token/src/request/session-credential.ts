import { bearerToken } from "./bearer-token.js"
import { parseCookies } from "./cookies.js"
import { readHeaders } from "./request-headers.js"
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
