import { hkdf } from "@panva/hkdf"
import { encodeBase64url, type Octets } from "./base64url.js"

/** The encryption of new tokens (RFC 7518, section 5.2.5). */
export const currentEncryption = "A256CBC-HS512"

/** Length of the key and hash of its thumbprint, for each encryption that tokens may have. */
const encryptions = {
  [currentEncryption]: { keyBytes: 64, hash: "SHA-512" },
  A256GCM: { keyBytes: 32, hash: "SHA-256" },
}

/** The name of an encryption that tokens may have. */
export type Encryption = keyof typeof encryptions

export function isEncryption(name: string): name is Encryption {
  return Object.hasOwn(encryptions, name)
}

/** A content encryption key, and what tokens call it. */
export interface DerivedKey {
  readonly key: Octets
  /** The JWK thumbprint of the key (RFC 7638), base64url: the `kid` of tokens that it encrypts. */
  readonly kid: string
}

/**
 * The key of a secret and a salt, as Auth.js derives it: HKDF with SHA-256 (RFC 5869).
 *
 * @throws TypeError if the secret is empty or the salt longer than 989 bytes.
 */
export async function derivedKey(secret: string, salt: string, enc: Encryption): Promise<DerivedKey> {
  const { keyBytes, hash } = encryptions[enc]
  const info = `Auth.js Generated Encryption Key (${salt})`
  const key = new Uint8Array(await hkdf("sha256", secret, salt, info, keyBytes))
  // RFC 7638, section 3: "a JSON object containing only the required members of a JWK representing the key and with no
  // whitespace or line breaks before or after any syntactic elements and with the required members ordered
  // lexicographically". Section 3.2: those of a symmetric key are "k" and "kty".
  const jwk = new TextEncoder().encode(JSON.stringify({ k: encodeBase64url(key), kty: "oct" }))
  return { key, kid: encodeBase64url(new Uint8Array(await crypto.subtle.digest(hash, jwk))) }
}
