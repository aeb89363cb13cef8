import { type Environment, secretsFromEnvironment, secureCookieFromEnvironment } from "./environment.js"
import { MissingSecret, TokenError } from "./errors/error.js"
import { type SessionLibrary, sessionCookieName } from "./request/session-cookie.js"
import { findSessionCredential } from "./request/session-credential.js"
import { usableSecrets } from "./secrets.js"
import type { GetTokenParams, JWT, JWTOptions } from "./types.js"

interface Defaults {
  decode: JWTOptions["decode"]
  library: SessionLibrary
  environment: Environment | undefined
}

/** Finds the token of a request and decodes it as `getToken` or `nextAuth4.getToken` does, with these defaults. */
export async function findToken(params: GetTokenParams<boolean>, defaults: Defaults): Promise<string | JWT | null> {
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
