/** The reason why a token was rejected or could not be issued. These names are stable: compare them, not messages. */
export type TokenErrorCode =
  | "MISSING_SECRET"
  | "NO_MATCHING_SECRET"
  | "TOKEN_ALGORITHM_NOT_ALLOWED"
  | "TOKEN_EXPIRED"
  | "TOKEN_MALFORMED"
  | "TOKEN_NOT_YET_VALID"

/**
 * An error about a token or a secret. The message depends only on the code and there is no cause, so that no part of a
 * token, its claims or a secret can reach a log.
 *
 * @example
 * ```ts
 * try {
 *   await decode({ token, secret, salt })
 * } catch (error) {
 *   if (error instanceof TokenError && error.code === "TOKEN_EXPIRED") askToSignInAgain()
 *   else throw error
 * }
 * ```
 */
export class TokenError extends Error {
  /** The reason. The Authwire service sends it as the reason of google.rpc.ErrorInfo. */
  readonly code: TokenErrorCode

  constructor(code: TokenErrorCode, message: string) {
    super(message)
    this.code = code
  }
}

/**
 * `MISSING_SECRET`: no secret was given, or only empty ones.
 *
 * @example
 * ```ts
 * await encode({ secret: "", salt: "authjs.session-token" }) // throws MissingSecret
 * ```
 */
export class MissingSecret extends TokenError {
  override readonly name = "MissingSecret"

  constructor() {
    super("MISSING_SECRET", "there is no secret: pass one, or set AUTH_SECRET")
  }
}

/**
 * `TOKEN_MALFORMED`: the value is not a token. It does not have the five parts of a compact JWE (RFC 7516, section
 * 7.1), a part is not base64url or has the wrong length, the header is not a JSON object with `alg` and `enc`, or the
 * encrypted content is not a JSON object of claims (RFC 7519, section 7.2). A signed JWT is therefore malformed, even
 * if it is nested in a JWE.
 *
 * @example
 * ```ts
 * await decode({ token: "no token", secret, salt }) // throws TokenMalformed
 * ```
 */
export class TokenMalformed extends TokenError {
  override readonly name = "TokenMalformed"

  constructor() {
    super("TOKEN_MALFORMED", "this is not a token")
  }
}

/**
 * `TOKEN_ALGORITHM_NOT_ALLOWED`: `alg` is not `dir`, `enc` is neither `A256CBC-HS512` nor `A256GCM`, or the header asks
 * for compression (`zip`) or an extension (`crit`).
 *
 * @example
 * ```ts
 * const token = await new EncryptJWT({}).setProtectedHeader({ alg: "dir", enc: "A128GCM" }).encrypt(key)
 * await decode({ token, secret, salt }) // throws TokenAlgorithmNotAllowed
 * ```
 */
export class TokenAlgorithmNotAllowed extends TokenError {
  override readonly name = "TokenAlgorithmNotAllowed"

  constructor() {
    super("TOKEN_ALGORITHM_NOT_ALLOWED", "the token's algorithm is not one that Auth.js uses")
  }
}

/**
 * `NO_MATCHING_SECRET`: no secret decrypts the token with this salt. The token was issued with another secret or salt,
 * or it was modified. Authenticated encryption cannot distinguish the two cases.
 *
 * @example
 * ```ts
 * const token = await encode({ secret: "one", salt: "a" })
 * await decode({ token, secret: "one", salt: "b" }) // throws NoMatchingSecret
 * ```
 */
export class NoMatchingSecret extends TokenError {
  override readonly name = "NoMatchingSecret"

  constructor() {
    super("NO_MATCHING_SECRET", "no secret decrypts the token with this salt")
  }
}

/**
 * `TOKEN_EXPIRED`: `exp` is 15 seconds or more in the past.
 *
 * @example
 * ```ts
 * const token = await encode({ secret, salt, maxAge: -60 })
 * await decode({ token, secret, salt }) // throws TokenExpired
 * ```
 */
export class TokenExpired extends TokenError {
  override readonly name = "TokenExpired"

  constructor() {
    super("TOKEN_EXPIRED", "the token has expired")
  }
}

/**
 * `TOKEN_NOT_YET_VALID`: `nbf` is more than 15 seconds in the future.
 *
 * @example
 * ```ts
 * const token = await encode({ token: { nbf: Date.now() / 1000 + 60 }, secret, salt })
 * await decode({ token, secret, salt }) // throws TokenNotYetValid
 * ```
 */
export class TokenNotYetValid extends TokenError {
  override readonly name = "TokenNotYetValid"

  constructor() {
    super("TOKEN_NOT_YET_VALID", "the token is not valid yet")
  }
}
