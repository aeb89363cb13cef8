import { hkdf } from "@panva/hkdf"
import { base64url, calculateJwkThumbprint } from "jose"
import { TokenAlgorithmNotAllowed } from "../errors/error.js"
import { keyCache } from "./key-cache.js"

/** The encryption of new tokens (RFC 7518, section 5.2.5). */
export const currentEncryption = "A256CBC-HS512"

/** The encryption of the tokens of next-auth 4 (RFC 7518, section 5.3). */
export const nextAuth4Encryption = "A256GCM"

/** The key length and the hash of the key's thumbprint, for each encryption that tokens may have. */
const encryptions = {
  [currentEncryption]: { keyBytes: 64, hash: "sha512" },
  [nextAuth4Encryption]: { keyBytes: 32, hash: "sha256" },
} as const

/** The name of an encryption that tokens may have. */
export type Encryption = keyof typeof encryptions

/** The names of all encryptions that tokens may have. */
export const encryptionNames = Object.keys(encryptions)

/** How the keys of tokens are derived. */
export interface KeyRules {
  /** The salt. Absent: tokens whose key depends on a salt are rejected. */
  readonly salt?: string | undefined
  /** Whether the key of a token with A256GCM is derived as next-auth 4 does it for its session tokens: without a salt. */
  readonly nextAuth4?: boolean
}

/** A content encryption key and its identifier. */
export interface DerivedKey {
  readonly key: Uint8Array
  /** The JWK thumbprint of the key (RFC 7638), in base64url. It is the `kid` of the tokens that the key encrypts. */
  readonly kid: string
}

/**
 * Derives the key of a secret as Auth.js or next-auth 4 does: HKDF with SHA-256 (RFC 5869). Both use A256GCM with
 * different keys, so a caller must say which one it means.
 *
 * Keys are cached in this module and not in an object of the caller, because the functions of the contract accept none.
 * A key depends only on the arguments, so the cache affects only the duration of a call.
 *
 * @throws TypeError if the secret is empty, or the salt is not a string or longer than 989 bytes.
 * @throws TokenAlgorithmNotAllowed if the token is not one of next-auth 4, and there is no salt to read others.
 */
export async function derivedKey(
  secret: string,
  enc: Encryption,
  { salt, nextAuth4 = false }: KeyRules,
): Promise<DerivedKey> {
  if (nextAuth4 && enc === nextAuth4Encryption) return remembered(secret, "", nextAuth4Key)
  if (nextAuth4 && !salt) throw new TokenAlgorithmNotAllowed()
  if (typeof salt !== "string") throw new TypeError("the parameter salt must be a string")
  return remembered(secret, salt, enc)
}

const nextAuth4Key = "next-auth 4"

const remembered = keyCache(
  async (secret: string, salt: string, kind: Encryption | typeof nextAuth4Key): Promise<DerivedKey> => {
    const { keyBytes, hash } = encryptions[kind === nextAuth4Key ? nextAuth4Encryption : kind]
    const info =
      kind === nextAuth4Key ? "NextAuth.js Generated Encryption Key" : `Auth.js Generated Encryption Key (${salt})`
    const key = await hkdf("sha256", secret, salt, info, keyBytes)
    return { key, kid: await calculateJwkThumbprint({ kty: "oct", k: base64url.encode(key) }, hash) }
  },
)
