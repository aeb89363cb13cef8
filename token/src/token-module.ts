import { decodeWith } from "./decode.js"
import { issue } from "./encode.js"
import { nextAuth4Environment } from "./environment.js"
import { findToken } from "./get-token.js"
import { currentEncryption, nextAuth4Encryption } from "./jwe/derived-key.js"
import { tokenCache } from "./jwe/token-cache.js"
import type {
  GetTokenParams,
  JWT,
  JWTDecodeParams,
  JWTEncodeParams,
  NextAuth4DecodeParams,
  NextAuth4EncodeParams,
} from "./types.js"

/** Options of createTokenModule. */
export interface TokenModuleOptions {
  /**
   * The maximum number of cached decrypted tokens: a whole number from 0, which disables the cache. The entries
   * together take at most 4 KiB times this number. A token that alone needs more than that total is not cached. The
   * least recently used tokens are evicted first.
   *
   * @default 1000
   */
  cacheSize?: number
  /**
   * The clock that decides when tokens are issued and whether they have expired: the time in milliseconds since 1970.
   *
   * @default Date.now
   */
  now?: () => number
}

/** The functions of the token module. */
export interface TokenModule {
  encode<Payload = JWT>(params: JWTEncodeParams<Payload>): Promise<string>
  decode<Payload = JWT>(params: JWTDecodeParams): Promise<Payload | null>
  getToken: GetToken
  /** The functions for next-auth 4, with the same cache. */
  nextAuth4: NextAuth4
}

interface GetToken {
  (params: GetTokenParams<true> & { raw: true }): Promise<string | null>
  <R extends boolean = false>(params: GetTokenParams<R>): Promise<R extends true ? string : JWT | null>
}

/**
 * The functions for the session tokens of next-auth 4, which are encrypted with A256GCM and a key that depends on the
 * secret only, not on a salt. All applications of next-auth 4 with the same secret therefore accept each other's
 * sessions, whatever the names of their cookies are.
 */
export interface NextAuth4 {
  /**
   * Issues a token as the `encode` of `next-auth/jwt` 4 does. Errors are those of `encode`.
   *
   * @example
   * ```ts
   * const token = await nextAuth4.encode({ token: { sub: "5f2c" }, secret: process.env.NEXTAUTH_SECRET })
   * ```
   */
  encode<Payload = JWT>(params: NextAuth4EncodeParams<Payload>): Promise<string>
  /**
   * Decodes a token of next-auth 4 and, if a salt is given, also of Auth.js, so that an application of Auth.js can read
   * the sessions of both. Authenticated headers say which one a token is: Auth.js encrypts with A256CBC-HS512, and a
   * token with A256GCM is one of next-auth 4 here. Results and errors are those of `decode`.
   *
   * @example
   * ```ts
   * NextAuth({ jwt: { encode, decode: nextAuth4.decode }, providers }) // issues tokens of Auth.js, and reads both
   * ```
   */
  decode<Payload = JWT>(params: NextAuth4DecodeParams): Promise<Payload | null>
  /**
   * Finds the token of a request and decodes it with `nextAuth4.decode`. The default name of the cookie is
   * `next-auth.session-token`. NEXTAUTH_SECRET and NEXTAUTH_URL, if they are set, take the place of AUTH_SECRET and
   * SERVICE_AUTH_URL. Results and errors are those of `getToken`.
   */
  getToken: GetToken
}

/**
 * Creates `encode`, `decode` and `getToken` with their own cache of decrypted tokens. The functions that the package
 * exports by those names share one cache of the default size.
 *
 * @throws TypeError if cacheSize is not a whole number from 0.
 * @example
 * ```ts
 * const { encode, decode } = createTokenModule({ cacheSize: 10_000 })
 * NextAuth({ session: { strategy: "jwt" }, jwt: { encode, decode }, providers })
 * ```
 */
export function createTokenModule(options: TokenModuleOptions = {}): TokenModule {
  const { now = () => Date.now() } = options
  const cache = tokenCache(options.cacheSize)
  const decode = <Payload = JWT>(params: JWTDecodeParams) => decodeWith<Payload>({ cache, now }, params)
  const decode4 = <Payload = JWT>(params: NextAuth4DecodeParams) =>
    decodeWith<Payload>({ cache, now, nextAuth4: true }, params)
  const find = (params: GetTokenParams<boolean>) =>
    findToken(params, { decode, library: "authjs", environment: undefined })
  const find4 = async (params: GetTokenParams<boolean>) =>
    findToken(params, { decode: decode4, library: "next-auth", environment: nextAuth4Environment() })
  return {
    encode: async (params) => issue(now(), params, { enc: currentEncryption, salt: params.salt }),
    decode,
    getToken: find as GetToken,
    nextAuth4: {
      encode: async (params) => issue(now(), params, { enc: nextAuth4Encryption, nextAuth4: true }),
      decode: decode4,
      getToken: find4 as GetToken,
    },
  }
}

const common = /*#__PURE__*/ createTokenModule()

/**
 * Issues a token: the claims, encrypted as a compact JWE with `dir` and `A256CBC-HS512` (RFC 7518, sections 4.5 and
 * 5.2.5) with a key that is derived from the secret and the salt. Sets `iat`, `exp` and `jti`, and overwrites these
 * claims if they are given. Auth.js can decode the token, and this module can decode tokens of Auth.js (contract,
 * sections 4.2 and 5).
 *
 * The claims are converted to JSON as by JSON.stringify: a Date becomes a string, an undefined property is omitted.
 *
 * @throws MissingSecret if there is no secret, or the first of the list is empty. The others are not used in its place.
 * @throws TypeError if the claims are not an object or JSON cannot represent them, `maxAge` is not a finite number, or
 * the salt is not a string or longer than 989 bytes.
 * @example
 * ```ts
 * const salt = "authjs.session-token"
 * const token = await encode({ token: { sub: "5f2c", role: "admin" }, secret: [newSecret, oldSecret], salt, maxAge: 3600 })
 * ```
 */
export const encode = common.encode

/**
 * Decodes a token: decrypts it and checks `exp` and `nbf`, with a tolerance of 15 seconds. Returns null if the token is
 * missing or empty (contract, sections 2.6, 4.2, 5 and 7).
 *
 * The token's `kid` selects the secret. A token without `kid` is tried with each secret in turn. Auth.js tries only the
 * first, which breaks rotation for tokens of issuers that set no `kid`. Unlike Auth.js, this function also rejects
 * compressed tokens.
 *
 * Decrypted tokens are cached: a token is not decrypted again while its secret is among the given ones. The times are
 * checked at every call. The process caches up to 1,000 tokens and 4,096,000 bytes. See createTokenModule for another
 * limit, or to disable the cache.
 *
 * @typeParam Payload - The type of the claims. It is not checked.
 * @returns The claims, as a new object that the caller may modify.
 * @throws MissingSecret if there is no secret that is not empty.
 * @throws TokenMalformed if it is not a token, or its content is not claims.
 * @throws TokenAlgorithmNotAllowed if its `alg`, `enc`, `zip` or `crit` is not one that Auth.js uses.
 * @throws NoMatchingSecret if no secret decrypts it with this salt, or it was tampered with.
 * @throws TokenExpired if `exp` is 15 seconds or more in the past.
 * @throws TokenNotYetValid if `nbf` is more than 15 seconds in the future.
 * @throws TypeError if a secret or the salt is not a string, or the salt is longer than 989 bytes.
 * @example
 * ```ts
 * const claims = await decode({ token, secret: [newSecret, oldSecret], salt: "authjs.session-token" })
 * console.log(claims?.sub)
 * ```
 */
export const decode = common.decode

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
export const getToken = common.getToken

/** The functions for the session tokens of next-auth 4. They share the cache of `decode`. */
export const nextAuth4 = common.nextAuth4
