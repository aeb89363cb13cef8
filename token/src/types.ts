/** A value, or a promise of it. */
export type Awaitable<T> = T | PromiseLike<T>

/**
 * The claims that Auth.js itself puts into a token, and any other. All are optional (contract, section 2.6).
 *
 * @example
 * ```ts
 * const claims: DefaultJWT = { sub: "5f2c…", name: "Ada", email: "ada@example.com", picture: null, role: "admin" }
 * ```
 */
export interface DefaultJWT extends Record<string, unknown> {
  /** Display name of the user. */
  name?: string | null
  /** E-mail address of the user. */
  email?: string | null
  /** URL of the user's picture. */
  picture?: string | null
  /** Id of the user (RFC 7519, section 4.1.2). */
  sub?: string
  /** When the token was issued, in seconds since 1970 (RFC 7519, section 4.1.6). Set by encode. */
  iat?: number
  /** When the token ends, in seconds since 1970 (RFC 7519, section 4.1.4). Set by encode. */
  exp?: number
  /** Id of the token, a UUID (RFC 7519, section 4.1.7). Set by encode. */
  jti?: string
}

/**
 * The claims of a token: what decode returns, and what Auth.js's `jwt` callback returns (contract, section 2.6).
 * An application adds its own by declaration merging.
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

/** What encode takes (contract, section 2.6). */
export interface JWTEncodeParams<Payload = JWT> {
  /**
   * How long the token lives, in seconds.
   *
   * @default 2592000, 30 days
   */
  maxAge?: number
  /** What the key is derived from beside the secret: Auth.js takes the name of the session cookie. At most 989 bytes. */
  salt: string
  /** The secret, or a list of them, the newest first: that one encrypts. */
  secret: string | string[]
  /**
   * The claims, an object that JSON can hold. `iat`, `exp` and `jti` are replaced.
   *
   * @default {}
   */
  token?: Payload
}

/** What decode takes (contract, section 2.6). */
export interface JWTDecodeParams {
  /** The salt that the token was issued with. */
  salt: string
  /** The secret, or a list of them, the newest first. A rotation puts the new secret in front and keeps the old one. */
  secret: string | string[]
  /** The token. Without one there is nothing to decode, and decode returns null. */
  token?: string
}

/** Auth.js's option `jwt`: lifetime, and overrides of encode and decode (contract, section 2.6). */
export interface JWTOptions {
  /** The secret, or a list of them, the newest first. */
  secret: string | string[]
  /**
   * How long a token lives, in seconds.
   *
   * @default 2592000, 30 days
   */
  maxAge: number
  /** Issues a token in place of this module's encode. */
  encode: (params: JWTEncodeParams) => Awaitable<string>
  /** Reads a token in place of this module's decode. */
  decode: (params: JWTDecodeParams) => Awaitable<JWT | null>
}

/** Where messages go: the logger of an Auth.js configuration, or a console. */
export interface LoggerInstance {
  warn(code: string): void
  error(error: Error): void
  debug(message: string, metadata?: unknown): void
}

/** What getToken takes (contract, section 2.6). */
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
   * Name of the session cookie.
   *
   * @default `authjs.session-token`, or `__Secure-authjs.session-token` with secureCookie
   */
  cookieName?: string
  /**
   * Return the token itself, unread, in place of its claims. No secret is needed then.
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
   * Reads the token in place of this module's decode. What it throws counts as a token that cannot be read.
   *
   * @default decode
   */
  decode?: JWTOptions["decode"]
  /**
   * Told, at the level debug, the code of the error when a token could not be read; never the token.
   *
   * @default none
   */
  logger?: LoggerInstance | Console
}
