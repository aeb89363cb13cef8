import { checkReplicated, readClaims } from "./claims.js"
import { MissingSecret } from "./errors/error.js"
import { decrypt } from "./jwe/decrypt.js"
import { derivedKey, type KeyRules } from "./jwe/derived-key.js"
import { type CachedToken, type TokenCache, tokenCache } from "./jwe/token-cache.js"
import { usableSecrets } from "./secrets.js"
import type { JWT, JWTDecodeParams, NextAuth4DecodeParams } from "./types.js"

const common = tokenCache()

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
export async function decode<Payload = JWT>(params: JWTDecodeParams): Promise<Payload | null> {
  return decodeWith<Payload>({ cache: common, now: Date.now }, params)
}

/** Decodes a token as `nextAuth4.decode` does. */
export async function decodeNextAuth4<Payload = JWT>(params: NextAuth4DecodeParams): Promise<Payload | null> {
  return decodeWith<Payload>({ cache: common, now: Date.now, nextAuth4: true }, params)
}

/** Decodes a token as `decode` or `nextAuth4.decode` does, with a cache and a clock, in milliseconds since 1970. */
export async function decodeWith<Payload>(
  { cache, now, nextAuth4 = false }: { cache: TokenCache; now: () => number; nextAuth4?: boolean },
  params: JWTDecodeParams | NextAuth4DecodeParams,
): Promise<Payload | null> {
  const { token, secret, salt } = params
  if (!token) return null
  const secrets = usableSecrets(secret)
  if (secrets.length === 0) throw new MissingSecret()
  const rules = { salt, nextAuth4 }

  const known = cache.peek(token)
  if (known !== undefined && (await isOfOneOf(secrets, rules, known))) {
    try {
      const claims = readClaims(known.content, now())
      cache.use(token)
      return claims as Payload
    } catch (error) {
      cache.delete(token, known)
      throw error
    }
  }

  const decrypted = await decrypt(token, secrets, rules)
  const claims = readClaims(decrypted.content, now())
  checkReplicated(claims, decrypted.header)
  cache.set(token, decrypted)
  return claims as Payload
}

/** Returns whether one of the secrets derives the key that decrypted a token. */
async function isOfOneOf(secrets: readonly string[], rules: KeyRules, { enc, kid }: CachedToken): Promise<boolean> {
  for (const secret of secrets) {
    if ((await derivedKey(secret, enc, rules)).kid === kid) return true
  }
  return false
}
