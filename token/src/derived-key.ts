import { hkdf } from "@panva/hkdf"
import { base64url, calculateJwkThumbprint } from "jose"
import { keyCache } from "./cache/key-cache.js"

/** The encryption of new tokens (RFC 7518, section 5.2.5). */
export const currentEncryption = "A256CBC-HS512"

/** Length of the key and hash of its thumbprint, for each encryption that tokens may have. */
const encryptions = {
  [currentEncryption]: { keyBytes: 64, hash: "sha512" },
  A256GCM: { keyBytes: 32, hash: "sha256" },
} as const

/** The name of an encryption that tokens may have. */
export type Encryption = keyof typeof encryptions

/** The names of all of them. */
export const encryptionNames = Object.keys(encryptions)

/** A content encryption key, and what tokens call it. */
export interface DerivedKey {
  readonly key: Uint8Array
  /** The JWK thumbprint of the key (RFC 7638), base64url: the `kid` of tokens that it encrypts. */
  readonly kid: string
}

/**
 * The key of a secret and a salt, as Auth.js derives it: HKDF with SHA-256 (RFC 5869).
 *
 * Keys are remembered by the module and not by an object of the caller's, because the functions of the contract take
 * none. They depend on nothing but the arguments, so that shows in nothing but the time it takes.
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
