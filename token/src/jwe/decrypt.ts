import { type CompactDecryptGetKey, compactDecrypt, errors } from "jose"
import { NoMatchingSecret, TokenAlgorithmNotAllowed, TokenError, TokenMalformed } from "../errors/error.js"
import {
  currentEncryption,
  type DerivedKey,
  derivedKey,
  type Encryption,
  encryptionNames,
  type KeyRules,
} from "./derived-key.js"

/** A decrypted token. */
export interface Decrypted {
  /** The encryption of the token. */
  readonly enc: Encryption
  /** The identifier of the key that decrypted the token, not the key itself. */
  readonly kid: string
  /** The content as text: the claims in JSON, for a token of Auth.js. */
  readonly content: string
  /** The header, which is authenticated like the content. */
  readonly header: Record<string, unknown>
}

/**
 * The algorithms that jose may accept. RFC 8725, section 3.1: "Libraries MUST enable the caller to specify a supported
 * set of algorithms and MUST NOT use any other algorithms when performing cryptographic operations."
 */
const algorithms = { keyManagementAlgorithms: ["dir"], contentEncryptionAlgorithms: encryptionNames }

const strictUtf8 = new TextDecoder("utf-8", { fatal: true })

/**
 * Decrypts a token with the secret that its `kid` selects. A token without `kid` is tried with each secret in turn.
 *
 * @throws TokenMalformed if it is not a token, or its content is not UTF-8.
 * @throws TokenAlgorithmNotAllowed if its `alg`, `enc`, `zip` or `crit` is not one that Auth.js uses, or
 * there is no salt to read it.
 * @throws NoMatchingSecret if no secret decrypts it with this salt, or it was tampered with.
 * @throws TypeError if the salt is not a string or longer than 989 bytes.
 */
export async function decrypt(token: string, secrets: readonly string[], rules: KeyRules): Promise<Decrypted> {
  // jose would also accept bytes, and would split a string at any number of dots.
  if (typeof token !== "string" || token.split(".", 6).length !== 5) throw new TokenMalformed()
  const left = [...secrets]
  let enc: Encryption = currentEncryption
  let key: DerivedKey | undefined
  const keyOf: CompactDecryptGetKey = async (header) => {
    // RFC 8725, section 3.6: "Compression of data SHOULD NOT be done before encryption, because such compressed data
    // often reveals information about the plaintext." Auth.js never compresses, and a few bytes could expand to very
    // many.
    if (header.zip !== undefined) throw new TokenAlgorithmNotAllowed()
    // This is one of contentEncryptionAlgorithms, because jose checks it before it requests a key.
    enc = header.enc as Encryption
    for (let secret = left.shift(); secret !== undefined; secret = left.shift()) {
      key = await derivedKey(secret, enc, rules)
      if (header.kid === undefined || header.kid === key.kid) return key.key
    }
    throw new NoMatchingSecret()
  }
  while (left.length > 0) {
    try {
      const { plaintext, protectedHeader } = await compactDecrypt(token, keyOf, algorithms)
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

/** Converts an error of jose to a TokenError, which contains nothing of the token. Returns other errors unchanged. */
function named(error: unknown): unknown {
  if (error instanceof TokenError || !(error instanceof errors.JOSEError)) return error
  if (error instanceof errors.JOSEAlgNotAllowed || error instanceof errors.JOSENotSupported) {
    return new TokenAlgorithmNotAllowed()
  }
  return new TokenMalformed()
}
