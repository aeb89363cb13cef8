import { type CompactJWEHeaderParameters, errors, type JWTDecryptGetKey, jwtDecrypt } from "jose"
import { allowedEncryptions, derivedKey } from "./derived-key.js"
import {
  MissingSecret,
  NoMatchingSecret,
  TokenAlgorithmNotAllowed,
  TokenExpired,
  TokenMalformed,
  TokenNotYetValid,
} from "./error.js"
import { usableSecrets } from "./secrets.js"
import type { JWT, JWTDecodeParams } from "./types.js"

const rules = {
  // RFC 8725, section 3.1: "Libraries MUST enable the caller to specify a supported set of algorithms and MUST NOT use
  // any other algorithms when performing cryptographic operations." The header is the sender's word, so no other list.
  keyManagementAlgorithms: ["dir"],
  contentEncryptionAlgorithms: allowedEncryptions,
  // RFC 7519, section 4.1.4: "Implementers MAY provide for some small leeway, usually no more than a few minutes, to
  // account for clock skew." The seconds are those of Auth.js.
  clockTolerance: 15,
}

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
  for (const [index, candidate] of secrets.entries()) {
    let named = false
    const keyOf: JWTDecryptGetKey = (header) => {
      named = header.kid !== undefined
      return keyFor(header, salt, named ? secrets : [candidate])
    }
    try {
      const { payload } = await jwtDecrypt<Payload & object>(token, keyOf, rules)
      return payload
    } catch (error) {
      const mayBeAnothers = !named && error instanceof errors.JWEDecryptionFailed
      if (!mayBeAnothers || index === secrets.length - 1) throw refusal(error)
    }
  }
  throw new NoMatchingSecret()
}

/** The key that the header names among those of the secrets; if it names none, that of the first secret. */
async function keyFor(header: CompactJWEHeaderParameters, salt: string, secrets: string[]): Promise<Uint8Array> {
  // RFC 8725, section 3.6: "Compression of data SHOULD NOT be done before encryption, because such compressed data often
  // reveals information about the plaintext." Auth.js never does, and a few bytes could be made to unpack to many.
  if (header.zip !== undefined) throw new TokenAlgorithmNotAllowed()
  for (const secret of secrets) {
    const { key, kid } = await derivedKey(secret, salt, header.enc)
    if (header.kid === undefined || header.kid === kid) return key
  }
  throw new NoMatchingSecret()
}

/** What decode throws for an error of jose's. Those hold the claims, so none becomes a cause. */
function refusal(error: unknown): unknown {
  if (error instanceof errors.JWTExpired) return new TokenExpired()
  if (error instanceof errors.JWTClaimValidationFailed) {
    return error.claim === "nbf" && error.reason === "check_failed" ? new TokenNotYetValid() : new TokenMalformed()
  }
  if (error instanceof errors.JWEDecryptionFailed) return new NoMatchingSecret()
  if (error instanceof errors.JOSEAlgNotAllowed || error instanceof errors.JOSENotSupported) {
    return new TokenAlgorithmNotAllowed()
  }
  if (error instanceof errors.JOSEError) return new TokenMalformed()
  return error
}
