import { decodeNextAuth4, decodeWith } from "./decode.js"
import { type encode, encodeAt, encodeNextAuth4At } from "./encode.js"
import { getNextAuth4Token, getToken } from "./get-token.js"
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
  encode: typeof encode
  decode<Payload = JWT>(params: JWTDecodeParams): Promise<Payload | null>
  getToken: typeof getToken
  /** The functions for next-auth 4, with the same cache. */
  nextAuth4: NextAuth4
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
  getToken: typeof getToken
}

/** The functions for the session tokens of next-auth 4. They share the cache of `decode`. */
export const nextAuth4: NextAuth4 = {
  encode: (params) => encodeNextAuth4At(Date.now(), params),
  decode: decodeNextAuth4,
  getToken: getNextAuth4Token as typeof getToken,
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
  const encode = <Payload = JWT>(params: JWTEncodeParams<Payload>) => encodeAt(now(), params)
  const decode = <Payload = JWT>(params: JWTDecodeParams) => decodeWith<Payload>({ cache, now }, params)
  const find = (params: GetTokenParams<boolean>) => getToken({ ...params, decode: params.decode ?? decode })
  const decode4 = <Payload = JWT>(params: NextAuth4DecodeParams) =>
    decodeWith<Payload>({ cache, now, nextAuth4: true }, params)
  const find4 = (params: GetTokenParams<boolean>) => getNextAuth4Token({ ...params, decode: params.decode ?? decode4 })
  return {
    encode,
    decode,
    getToken: find as typeof getToken,
    nextAuth4: {
      encode: (params) => encodeNextAuth4At(now(), params),
      decode: decode4,
      getToken: find4 as typeof getToken,
    },
  }
}
