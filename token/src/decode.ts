import { readClaims } from "./claims.js"
import { contentKey } from "./content-key.js"
import { MissingSecret, NoMatchingSecret } from "./error.js"
import { parseJwe } from "./jwe.js"
import { usableSecrets } from "./secrets.js"
import type { JWT, JWTDecodeParams } from "./types.js"

/**
 * Reads a token: decrypts it and checks `exp` and `nbf`, with a tolerance of 15 seconds. Without a token, or with an
 * empty one, the result is null (contract, sections 2.6, 4.2, 5 and 7).
 *
 * The secret is the one whose key the token's `kid` names. A token without `kid` is tried with each in turn; Auth.js
 * tries only the first, which breaks rotation for tokens of issuers that set none. Unlike Auth.js it also refuses
 * compressed tokens.
 *
 * @typeParam Payload - Shape of the claims. It is not checked.
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
  const { token, secret, salt } = params
  if (!token) return null
  const secrets = usableSecrets(secret)
  if (secrets.length === 0) throw new MissingSecret()
  const jwe = parseJwe(token)
  const { kid, enc } = jwe.header
  for (const candidate of secrets) {
    const key = await contentKey(candidate, salt, enc)
    if (kid !== undefined && kid !== key.kid) continue
    const content = await key.cipher.decrypt(jwe)
    if (content !== undefined) return readClaims(content, jwe.header) as Payload
  }
  throw new NoMatchingSecret()
}
