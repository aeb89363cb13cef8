import { tokenCache } from "./cache/token-cache.js"
import { decodeWith } from "./decode.js"
import { encode } from "./encode.js"
import { getToken } from "./get-token.js"
import type { GetTokenParams, JWT, JWTDecodeParams } from "./types.js"

/** What createTokenModule takes. */
export interface TokenModuleOptions {
  /**
   * How many decrypted tokens are remembered: from 0, for none, as far as memory reaches. Together they take at most 4 KiB
   * for each of this number; a token that alone takes more than that is not remembered. The least recently used go first.
   *
   * @default 1000
   */
  cacheSize?: number
}

/** The functions of the token module. */
export interface TokenModule {
  encode: typeof encode
  decode<Payload = JWT>(params: JWTDecodeParams): Promise<Payload | null>
  getToken: typeof getToken
}

/**
 * The functions `encode`, `decode` and `getToken` with a memory of their own for decrypted tokens. The functions that the
 * package exports by those names share one memory of the default size.
 *
 * @throws TypeError if cacheSize is not a whole number from 0.
 * @example
 * ```ts
 * const { encode, decode } = createTokenModule({ cacheSize: 10_000 })
 * NextAuth({ session: { strategy: "jwt" }, jwt: { encode, decode }, providers })
 * ```
 */
export function createTokenModule(options: TokenModuleOptions = {}): TokenModule {
  const cache = tokenCache(options.cacheSize)
  const decode = <Payload = JWT>(params: JWTDecodeParams) => decodeWith<Payload>(cache, params)
  const find = (params: GetTokenParams<boolean>) => getToken({ ...params, decode: params.decode ?? decode })
  return { encode, decode, getToken: find as typeof getToken }
}
