/** A value, or a promise of it. */
export type Awaitable<T> = T | PromiseLike<T>

/**
 * The claims that Auth.js itself puts into a token, and any others. All are optional (contract, section 2.6).
 *
 * @example
 * ```ts
 * const claims: DefaultJWT = { sub: "5f2c…", name: "Ada", email: "ada@example.com", picture: null, role: "admin" }
 * ```
 */
export interface DefaultJWT extends Record<string, unknown> {
  /** The display name of the user. */
  name?: string | null
  /** The e-mail address of the user. */
  email?: string | null
  /** The URL of the user's picture. */
  picture?: string | null
  /** The ID of the user (RFC 7519, section 4.1.2). */
  sub?: string
  /** The time of issue, in seconds since 1970 (RFC 7519, section 4.1.6). Set by encode. */
  iat?: number
  /** The time of expiry, in seconds since 1970 (RFC 7519, section 4.1.4). Set by encode. */
  exp?: number
  /** The ID of the token, a UUID (RFC 7519, section 4.1.7). Set by encode. */
  jti?: string
}

/**
 * The claims of a token: the result of decode, and of the `jwt` callback of Auth.js (contract, section 2.6). An
 * application adds its own claims by declaration merging.
 *
 * @example
 * ```ts
 * declare module "@authwire/token" {
 *   interface JWT {
 *     role?: "admin" | "member"
 *   }
 * }
 * ```
 */
export interface JWT extends Record<string, unknown>, DefaultJWT {}

/** The parameters of encode (contract, section 2.6). */
export interface JWTEncodeParams<Payload = JWT> {
  /**
   * How long the token lives, in seconds.
   *
   * @default 2592000, 30 days
   */
  maxAge?: number
  /** The salt of the key derivation. Auth.js uses the name of the session cookie. At most 989 bytes. */
  salt: string
  /** The secret, or a list of secrets, newest first. The newest encrypts the token. */
  secret: string | string[]
  /**
   * The claims, as an object that JSON can represent. `iat`, `exp` and `jti` are replaced.
   *
   * @default {}
   */
  token?: Payload
}

/** The parameters of decode (contract, section 2.6). */
export interface JWTDecodeParams {
  /** The salt that the token was issued with. */
  salt: string
  /** The secret, or a list of secrets, newest first. A rotation adds the new one at the front. */
  secret: string | string[]
  /** The token. Without one, decode returns null. */
  token?: string
}

/** The parameters of `nextAuth4.encode`. Auth.js and next-auth 4 may pass a salt, which is not used. */
export interface NextAuth4EncodeParams<Payload = JWT> extends Omit<JWTEncodeParams<Payload>, "salt"> {
  salt?: string
}

/** The parameters of `nextAuth4.decode`. */
export interface NextAuth4DecodeParams extends Omit<JWTDecodeParams, "salt"> {
  /** The salt of tokens of Auth.js. Without it only tokens of next-auth 4 are accepted. */
  salt?: string
}

/** The option `jwt` of Auth.js: the lifetime, and replacements of encode and decode (contract, section 2.6). */
export interface JWTOptions {
  /** The secret, or a list of them, the newest first. */
  secret: string | string[]
  /**
   * How long a token lives, in seconds.
   *
   * @default 2592000, 30 days
   */
  maxAge: number
  /** Issues a token instead of this module's encode. */
  encode: (params: JWTEncodeParams) => Awaitable<string>
  /** Decodes a token instead of this module's decode. */
  decode: (params: JWTDecodeParams) => Awaitable<JWT | null>
}

/** A receiver of log messages: the logger of an Auth.js configuration, or a console. */
export interface LoggerInstance {
  warn(code: string): void
  error(error: Error): void
  debug(message: string, metadata?: unknown): void
}

/** The parameters of getToken (contract, section 2.6). */
export interface GetTokenParams<R extends boolean = false> {
  /** The request, or its headers. Only `Cookie` and `Authorization` are read. */
  req: Request | { headers: Headers | Record<string, string> }
  /**
   * Whether the default name of the cookie has the prefix `__Secure-`.
   *
   * @default whether SERVICE_AUTH_URL (else AUTH_URL) is set and does not begin with `http://`
   */
  secureCookie?: boolean
  /**
   * The name of the session cookie.
   *
   * @default `authjs.session-token`, or `__Secure-authjs.session-token` with secureCookie
   */
  cookieName?: string
  /**
   * Whether to return the token itself, without decoding it, instead of its claims. No secret is needed then.
   *
   * @default false
   */
  raw?: R
  /**
   * The secret, or a list of them, the newest first.
   *
   * @default AUTH_SECRET_3, AUTH_SECRET_2, AUTH_SECRET_1, AUTH_SECRET of the environment, as far as they are set
   */
  secret?: string | string[]
  /**
   * The salt that the token was issued with.
   *
   * @default the name of the cookie
   */
  salt?: string
  /**
   * Decodes the token instead of this module's decode. A token for which it throws counts as one that cannot be
   * decoded.
   *
   * @default decode
   */
  decode?: JWTOptions["decode"]
  /**
   * Receives the error code of each token that could not be decoded, at the level debug. It never receives the token.
   *
   * @default none
   */
  logger?: LoggerInstance | Console
}
