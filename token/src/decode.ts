import { type Remembered, type TokenCache, tokenCache } from "./cache/token-cache.js"
import { checkReplicated, readClaims } from "./claims.js"
import { decrypt } from "./decrypt.js"
import { derivedKey } from "./derived-key.js"
import { MissingSecret } from "./error.js"
import { usableSecrets } from "./secrets.js"
import type { JWT, JWTDecodeParams } from "./types.js"

const common = tokenCache()

/**
 * Reads a token: decrypts it and checks `exp` and `nbf`, with a tolerance of 15 seconds. Without a token, or with an
 * empty one, the result is null (contract, sections 2.6, 4.2, 5 and 7).
 *
 * The secret is the one whose key the token's `kid` names. A token without `kid` is tried with each in turn; Auth.js
 * tries only the first, which breaks rotation for tokens of issuers that set none. Unlike Auth.js it also refuses
 * compressed tokens.
 *
 * What was decrypted is remembered: a token that is decoded again is not decrypted again, as long as its secret is one of
 * those that are given. The times are checked at every use. Up to 1,000 tokens are remembered in the memory of the
 * process, 4,096,000 bytes at most; see createTokenModule for another number, or none.
 *
 * @typeParam Payload - Shape of the claims. It is not checked.
 * @returns The claims, an object of the caller's own.
 * @throws MissingSecret if there is no secret but empty ones.
 * @throws TokenMalformed if it is not a token, or a token of something else than claims.
 * @throws TokenAlgorithmNotAllowed if its `alg`, `enc`, `zip` or `crit` is not one that Auth.js uses.
 * @throws NoMatchingSecret if no secret decrypts it with this salt, or it was tampered with.
 * @throws TokenExpired if `exp` lies 15 seconds or more in the past.
 * @throws TokenNotYetValid if `nbf` lies more than 15 seconds in the future.
 * @throws TypeError if a secret or the salt is not a string, or the salt is longer than 989 bytes.
 * @example
 * ```ts
 * const claims = await decode({ token, secret: [newSecret, oldSecret], salt: "authjs.session-token" })
 * console.log(claims?.sub)
 * ```
 */
export async function decode<Payload = JWT>(params: JWTDecodeParams): Promise<Payload | null> {
  return decodeWith<Payload>(common, params)
}

/** The same with a cache of the caller's. */
export async function decodeWith<Payload>(cache: TokenCache, params: JWTDecodeParams): Promise<Payload | null> {
  const { token, secret, salt } = params
  if (!token) return null
  const secrets = usableSecrets(secret)
  if (secrets.length === 0) throw new MissingSecret()

  const known = cache.peek(token)
  if (known !== undefined && (await isOfOneOf(secrets, salt, known))) {
    try {
      const claims = readClaims(known.content)
      cache.use(token)
      return claims as Payload
    } catch (error) {
      cache.delete(token, known)
      throw error
    }
  }

  const decrypted = await decrypt(token, secrets, salt)
  const claims = readClaims(decrypted.content)
  checkReplicated(claims, decrypted.header)
  cache.set(token, decrypted)
  return claims as Payload
}

/** Whether one of the secrets, with this salt, makes the key that decrypted a token. */
async function isOfOneOf(secrets: readonly string[], salt: string, { enc, kid }: Remembered): Promise<boolean> {
  for (const secret of secrets) {
    if ((await derivedKey(secret, salt, enc)).kid === kid) return true
  }
  return false
}
