import { decode, decodeNextAuth4 } from "./decode.js"
import {
  type Environment,
  nextAuth4Environment,
  secretsFromEnvironment,
  secureCookieFromEnvironment,
} from "./environment.js"
import { MissingSecret, TokenError } from "./errors/error.js"
import { type SessionLibrary, sessionCookieName } from "./request/session-cookie.js"
import { findSessionCredential } from "./request/session-credential.js"
import { usableSecrets } from "./secrets.js"
import type { GetTokenParams, JWT, JWTOptions } from "./types.js"

/**
 * Finds the token of a request and decodes it. The token is in the session cookie, which may be split into chunks, or
 * else in the header `Authorization: Bearer`, percent-decoded (contract, sections 2.6, 4.2 and 5). Returns null if the
 * request has no token, or none that can be decoded: a request without a valid token is not an error, whatever the
 * client sends.
 *
 * Cookies of an earlier session may be left over beside those of the current one. Then the result is the token that can
 * be decoded and was issued last. With `raw` it is the first token that has the five parts of a JWE, beginning with the
 * cookie that is not split into chunks.
 *
 * The results are those of @auth/core 0.41, with these exceptions:
 * - A cookie whose name only begins like that of the session cookie does not become part of the token, and a left-over
 *   chunk does not corrupt it. Chunks that do not begin with 0 are not a token.
 * - `Authorization: Bearer` without a token is not a token. Auth.js returns the text "undefined" as the token.
 * - Headers of a plain object may contain what the class Headers rejects: `:path` of HTTP/2, a list of values, any
 *   character.
 * - `secret` and `secureCookie` have the defaults of the contract. In Auth.js `secret` has no default, and
 *   `secureCookie` is false.
 *
 * @throws MissingSecret if there is a token to decode, but no secret in `secret` or in the environment.
 * @throws TypeError if `req` is missing, or a secret is not a string.
 * @example
 * ```ts
 * const claims = await getToken({ req: request, secret: [newSecret, oldSecret] })
 * if (claims === null) return new Response("Who are you?", { status: 401 })
 *
 * const token = await getToken({ req: { headers: { cookie } }, raw: true }) // to forward it without decoding
 * ```
 */
export function getToken(params: GetTokenParams<true> & { raw: true }): Promise<string | null>
export function getToken<R extends boolean = false>(
  params: GetTokenParams<R>,
): Promise<R extends true ? string : JWT | null>
export async function getToken(params: GetTokenParams<boolean>): Promise<string | JWT | null> {
  return find(params, { decode, library: "authjs", environment: undefined })
}

/** Finds the token of a request and decodes it as `nextAuth4.getToken` does. */
export async function getNextAuth4Token(params: GetTokenParams<boolean>): Promise<string | JWT | null> {
  return find(params, { decode: decodeNextAuth4, library: "next-auth", environment: nextAuth4Environment() })
}

interface Defaults {
  decode: JWTOptions["decode"]
  library: SessionLibrary
  environment: Environment | undefined
}

async function find(params: GetTokenParams<boolean>, defaults: Defaults): Promise<string | JWT | null> {
  const { environment, library } = defaults
  const { req, raw, logger } = params
  if (!req) throw new TypeError("the parameter req is missing")
  const cookieName =
    params.cookieName ?? sessionCookieName(params.secureCookie ?? secureCookieFromEnvironment(environment), library)
  const tokens = findSessionCredential(req.headers, [cookieName])?.tokens ?? []
  if (raw) return tokens.find((token) => token.split(".").length === 5) ?? tokens[0] ?? null
  if (tokens.length === 0) return null

  const secret = usableSecrets(params.secret).length > 0 ? params.secret : secretsFromEnvironment(environment)
  if (!secret?.length) throw new MissingSecret()
  const { decode: read = defaults.decode, salt = cookieName } = params
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
