import { checkReplicated, readClaims } from "./claims.js"
import { MissingSecret } from "./errors/error.js"
import { decrypt } from "./jwe/decrypt.js"
import { derivedKey, type KeyRules } from "./jwe/derived-key.js"
import type { CachedToken, TokenCache } from "./jwe/token-cache.js"
import { usableSecrets } from "./secrets.js"
import type { JWTDecodeParams, NextAuth4DecodeParams } from "./types.js"

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
