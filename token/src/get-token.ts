import { decode } from "./decode.js"
import { secretsFromEnvironment, secureCookieFromEnvironment } from "./environment.js"
import { MissingSecret, TokenError } from "./error.js"
import { sessionCookieName } from "./request/session-cookie.js"
import { findSessionCredential } from "./request/session-credential.js"
import { usableSecrets } from "./secrets.js"
import type { GetTokenParams, JWT } from "./types.js"

/**
 * Finds the token of a request and reads it: in the session cookie, which may be cut into chunks, or else in the header
 * `Authorization: Bearer`, percent-decoded (contract, sections 2.6, 4.2 and 5). The result is null if the request has no
 * token or none that can be read: whatever a client sends, it is not an error that nobody is signed in.
 *
 * Cookies of an earlier session may be left over beside those of this one. Then the token is the one of them that can be
 * read and was issued last; with `raw` it is the first that has the five parts of a JWE, and the cookie that is not a
 * chunk comes first.
 *
 * Results are those of @auth/core 0.41 but for these:
 * - A cookie that only begins like the session cookie does not become part of the token, and a left-over chunk does not
 *   spoil it. Chunks that do not begin with 0 are no token.
 * - `Authorization: Bearer` without a token is no token. Auth.js takes the text "undefined" for one.
 * - Headers of a plain object may hold what the class Headers refuses: HTTP/2's `:path`, a list of values, any character.
 * - `secret` and `secureCookie` have the defaults of the contract. Auth.js has none for the first, and false.
 *
 * @throws MissingSecret if there is a token to read, and no secret, neither in `secret` nor in the environment.
 * @throws TypeError if `req` is missing, or a secret is not a string.
 * @example
 * ```ts
 * const claims = await getToken({ req: request, secret: [newSecret, oldSecret] })
 * if (claims === null) return new Response("Who are you?", { status: 401 })
 *
 * const token = await getToken({ req: { headers: { cookie } }, raw: true }) // to hand it on, unread
 * ```
 */
export function getToken(params: GetTokenParams<true> & { raw: true }): Promise<string | null>
export function getToken<R extends boolean = false>(
  params: GetTokenParams<R>,
): Promise<R extends true ? string : JWT | null>
export async function getToken(params: GetTokenParams<boolean>): Promise<string | JWT | null> {
  const { req, raw, logger } = params
  if (!req) throw new TypeError("the parameter req is missing")
  const cookieName = params.cookieName ?? sessionCookieName(params.secureCookie ?? secureCookieFromEnvironment())
  const tokens = findSessionCredential(req.headers, [cookieName])?.tokens ?? []
  if (raw) return tokens.find((token) => token.split(".").length === 5) ?? tokens[0] ?? null
  if (tokens.length === 0) return null

  const secret = usableSecrets(params.secret).length > 0 ? params.secret : secretsFromEnvironment()
  if (!secret?.length) throw new MissingSecret()
  const { decode: read = decode, salt = cookieName } = params
  let newest: JWT | null = null
  for (const token of tokens) {
    try {
      const claims = await read({ token, secret, salt })
      if (claims && (newest === null || issuedAt(claims) > issuedAt(newest))) newest = claims
    } catch (error) {
      logger?.debug("TOKEN_REFUSED", { code: error instanceof TokenError ? error.code : "UNKNOWN" })
    }
  }
  return newest
}

function issuedAt({ iat }: JWT): number {
  return typeof iat === "number" ? iat : Number.NEGATIVE_INFINITY
}
