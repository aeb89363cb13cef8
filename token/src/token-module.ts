import { decodeWith } from "./decode.js"
import { type encode, encodeAt } from "./encode.js"
import { getToken } from "./get-token.js"
import { tokenCache } from "./jwe/token-cache.js"
import type { GetTokenParams, JWT, JWTDecodeParams, JWTEncodeParams } from "./types.js"

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
  return { encode, decode, getToken: find as typeof getToken }
}
