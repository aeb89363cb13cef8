import { bearerToken } from "./bearer-token.js"
import { parseCookies } from "./cookies.js"
import { readHeaders } from "./request-headers.js"
import { sessionTokens } from "./session-cookie.js"

/**
 * What a request has to show for a session: the session cookie, or else the header `Authorization: Bearer`.
 *
 * The `tokens` are what the session's token may be, the likeliest first, never none: one nearly always, several when cookies
 * of an earlier session were left over beside those of this one.
 */
export type SessionCredential =
  | {
      from: "cookie"
      /** The name of the cookie, without the number of a chunk. */
      cookieName: string
      /** Whether the first token is the cookie that is not a chunk. */
      isWhole: boolean
      tokens: string[]
    }
  | { from: "bearer"; tokens: string[] }

/**
 * Finds what a request has to show for a session, and reads nothing of it: what it finds may be the token of a session in
 * a database, a JWT, or anything that somebody made up. Undefined if there is nothing. No header makes it throw.
 *
 * @param headers - See GetTokenParams.req. Only `Cookie` and `Authorization` are looked at.
 * @param cookieNames - Names of the session cookie. The first of them that the request has counts, and the others do not.
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
