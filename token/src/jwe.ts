import { decodeBase64url, encodeBase64url, type Octets } from "./base64url.js"
import type { ContentKey } from "./content-key.js"
import { currentEncryption, type Encryption, isEncryption } from "./derived-key.js"
import type { Encrypted } from "./encrypted.js"
import { TokenAlgorithmNotAllowed, TokenMalformed } from "./error.js"
import { jsonObject } from "./json-object.js"

// JWE Compact Serialization (RFC 7516), as far as Auth.js uses it: the key is the shared one (`dir`), the content is
// encrypted with A256CBC-HS512 or A256GCM.

/** The header of a token that may be decrypted. */
export interface JweHeader extends Record<string, unknown> {
  readonly alg: "dir"
  readonly enc: Encryption
}

/** A token taken apart. Nothing of it is authentic before it is decrypted. */
export interface Jwe extends Encrypted {
  readonly header: JweHeader
}

const utf8 = new TextEncoder()

/** A token with that content (RFC 7516, section 5.1). */
export async function encryptJwe(content: Octets, key: ContentKey<typeof currentEncryption>): Promise<string> {
  const header = encodeBase64url(utf8.encode(JSON.stringify({ alg: "dir", enc: currentEncryption, kid: key.kid })))
  // Step 14: "Let the Additional Authenticated Data encryption parameter be ASCII(Encoded Protected Header)."
  const { iv, ciphertext, tag } = await key.cipher.encrypt(content, utf8.encode(header))
  // Step 5: "When Direct Key Agreement or Direct Encryption are employed, let the JWE Encrypted Key be the empty octet
  // sequence."
  return [header, "", encodeBase64url(iv), encodeBase64url(ciphertext), encodeBase64url(tag)].join(".")
}

/**
 * Takes a token apart, and checks what can be checked without a key (RFC 7516, section 5.2, steps 1 to 10).
 *
 * @throws TokenMalformed if it is not a token.
 * @throws TokenAlgorithmNotAllowed if its `alg`, `enc`, `zip` or `crit` is not one that Auth.js uses.
 */
export function parseJwe(token: string): Jwe {
  // Section 7.1: "In the JWE Compact Serialization, no JWE Shared Unprotected Header or JWE Per-Recipient Unprotected
  // Header are used." So there are these five parts, and the first is the whole header.
  const parts: string[] = typeof token === "string" ? token.split(".", 6) : []
  const [encodedHeader = "", encryptedKey, iv = "", ciphertext = "", tag = ""] = parts
  if (parts.length !== 5) throw new TokenMalformed()
  const header = jsonObject(octetsOf(encodedHeader))
  const octets = { iv: octetsOf(iv), ciphertext: octetsOf(ciphertext), tag: octetsOf(tag) }
  checkHeader(header)
  // Step 10: "When Direct Key Agreement or Direct Encryption are employed, verify that the JWE Encrypted Key value is an
  // empty octet sequence."
  if (encryptedKey !== "") throw new TokenMalformed()
  return { header, aad: utf8.encode(encodedHeader), ...octets }
}

function octetsOf(part: string): Octets {
  try {
    return decodeBase64url(part)
  } catch {
    throw new TokenMalformed()
  }
}

function checkHeader(header: Record<string, unknown>): asserts header is JweHeader {
  const { alg, enc, crit, zip } = header
  if (crit !== undefined) throw isListOfNames(crit) ? new TokenAlgorithmNotAllowed() : new TokenMalformed()
  if (typeof alg !== "string" || typeof enc !== "string" || !alg || !enc) throw new TokenMalformed()
  // RFC 8725, section 3.1: "Libraries MUST enable the caller to specify a supported set of algorithms and MUST NOT use
  // any other algorithms when performing cryptographic operations." The header is the sender's word, so no other list.
  if (alg !== "dir" || !isEncryption(enc)) throw new TokenAlgorithmNotAllowed()
  // RFC 8725, section 3.6: "Compression of data SHOULD NOT be done before encryption, because such compressed data often
  // reveals information about the plaintext." Auth.js never does, and a few bytes could be made to unpack to many.
  if (zip !== undefined) throw new TokenAlgorithmNotAllowed()
}

/**
 * Whether `crit` is what it must be. Then too it is refused: "If any of the listed extension Header Parameters are not
 * understood and supported by the recipient, then the JWS is invalid" (RFC 7515, section 4.1.11; RFC 7516, section
 * 4.1.13, for JWE), and none is understood here.
 */
function isListOfNames(crit: unknown): boolean {
  return Array.isArray(crit) && crit.length > 0 && crit.every((name) => typeof name === "string" && name !== "")
}
