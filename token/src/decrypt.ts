import { type CompactDecryptGetKey, compactDecrypt, errors } from "jose"
import { currentEncryption, type DerivedKey, derivedKey, type Encryption, encryptionNames } from "./derived-key.js"
import { NoMatchingSecret, TokenAlgorithmNotAllowed, TokenError, TokenMalformed } from "./error.js"

/** A token that was decrypted. */
export interface Decrypted {
  /** The encryption of the token. */
  readonly enc: Encryption
  /** The name of the key that decrypted it; not the key. */
  readonly kid: string
  /** Its content as text: the claims in JSON, if it is a token of Auth.js. */
  readonly content: string
  /** Its header, which is as authentic as the content. */
  readonly header: Record<string, unknown>
}

/**
 * What jose may accept. RFC 8725, section 3.1: "Libraries MUST enable the caller to specify a supported set of algorithms
 * and MUST NOT use any other algorithms when performing cryptographic operations."
 */
const rules = { keyManagementAlgorithms: ["dir"], contentEncryptionAlgorithms: encryptionNames }

const strictUtf8 = new TextDecoder("utf-8", { fatal: true })

/**
 * Decrypts a token with the secret that its `kid` names; one without `kid` is tried with each in turn.
 *
 * @throws TokenMalformed if it is not a token, or its content is not text.
 * @throws TokenAlgorithmNotAllowed if its `alg`, `enc`, `zip` or `crit` is not one that Auth.js uses.
 * @throws NoMatchingSecret if no secret decrypts it with this salt, or it was tampered with.
 * @throws TypeError if the salt is not a string or longer than 989 bytes.
 */
export async function decrypt(token: string, secrets: readonly string[], salt: string): Promise<Decrypted> {
  // jose would read octets too, and would split a text at any number of dots.
  if (typeof token !== "string" || token.split(".", 6).length !== 5) throw new TokenMalformed()
  const left = [...secrets]
  let enc: Encryption = currentEncryption
  let key: DerivedKey | undefined
  const keyOf: CompactDecryptGetKey = async (header) => {
    // RFC 8725, section 3.6: "Compression of data SHOULD NOT be done before encryption, because such compressed data often
    // reveals information about the plaintext." Auth.js never does, and a few bytes could be made to unpack to many.
    if (header.zip !== undefined) throw new TokenAlgorithmNotAllowed()
    // One of contentEncryptionAlgorithms: jose checks that before it asks for a key.
    enc = header.enc as Encryption
    for (let secret = left.shift(); secret !== undefined; secret = left.shift()) {
      key = await derivedKey(secret, salt, enc)
      if (header.kid === undefined || header.kid === key.kid) return key.key
    }
    throw new NoMatchingSecret()
  }
  while (left.length > 0) {
    try {
      const { plaintext, protectedHeader } = await compactDecrypt(token, keyOf, rules)
      return { enc, kid: key?.kid ?? "", content: textOf(plaintext), header: protectedHeader }
    } catch (error) {
      if (!(error instanceof errors.JWEDecryptionFailed)) throw named(error)
    }
  }
  throw new NoMatchingSecret()
}

function textOf(octets: Uint8Array): string {
  try {
    return strictUtf8.decode(octets)
  } catch {
    throw new TokenMalformed()
  }
}

/** An error of jose's as one of ours, which says nothing of the token. */
function named(error: unknown): unknown {
  if (error instanceof TokenError || !(error instanceof errors.JOSEError)) return error
  if (error instanceof errors.JOSEAlgNotAllowed || error instanceof errors.JOSENotSupported) {
    return new TokenAlgorithmNotAllowed()
  }
  return new TokenMalformed()
}
