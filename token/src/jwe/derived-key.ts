import { hkdf } from "@panva/hkdf"
import { base64url, calculateJwkThumbprint } from "jose"
import { keyCache } from "./key-cache.js"

/** The encryption of new tokens (RFC 7518, section 5.2.5). */
export const currentEncryption = "A256CBC-HS512"

/** The key length and the hash of the key's thumbprint, for each encryption that tokens may have. */
const encryptions = {
  [currentEncryption]: { keyBytes: 64, hash: "sha512" },
  A256GCM: { keyBytes: 32, hash: "sha256" },
} as const

/** The name of an encryption that tokens may have. */
export type Encryption = keyof typeof encryptions

/** The names of all encryptions that tokens may have. */
export const encryptionNames = Object.keys(encryptions)

/** A content encryption key and its identifier. */
export interface DerivedKey {
  readonly key: Uint8Array
  /** The JWK thumbprint of the key (RFC 7638), in base64url. It is the `kid` of the tokens that the key encrypts. */
  readonly kid: string
}

/**
 * Derives the key of a secret and a salt as Auth.js does: HKDF with SHA-256 (RFC 5869).
 *
 * Keys are cached in this module and not in an object of the caller, because the functions of the contract accept none.
 * A key depends only on the arguments, so the cache affects only the duration of a call.
 *
 * @throws TypeError if the secret is empty, or the salt is not a string or longer than 989 bytes.
 */
export async function derivedKey(secret: string, salt: string, enc: Encryption): Promise<DerivedKey> {
  if (typeof salt !== "string") throw new TypeError("the parameter salt must be a string")
  return remembered(secret, salt, enc)
}

const remembered = keyCache(async (secret: string, salt: string, enc: Encryption): Promise<DerivedKey> => {
  const { keyBytes, hash } = encryptions[enc]
  const key = await hkdf("sha256", secret, salt, `Auth.js Generated Encryption Key (${salt})`, keyBytes)
  return { key, kid: await calculateJwkThumbprint({ kty: "oct", k: base64url.encode(key) }, hash) }
})
