import { hash, randomBytes, randomInt } from "node:crypto"

/** The lengths of the parts of a key, in characters. */
const idLength = 16
const secretLength = 43
const opening = "Bearer awk_"
const secretAt = opening.length + idLength + 1
const headerLength = secretAt + secretLength
const idAlphabet = "abcdefghijklmnopqrstuvwxyz234567"

/** The two parts of an API key: `awk_<id>_<secret>`. */
export interface KeyParts {
  /** The public part: 16 characters of `a-z` and `0-9`. */
  id: string
  /** 32 random bytes as base64url, which may hold an underscore. */
  secret: string
}

/** Generates a random key. */
export function newKey(): KeyParts {
  const id = Array.from({ length: idLength }, () => idAlphabet[randomInt(idAlphabet.length)]).join("")
  return { id, secret: randomBytes(32).toString("base64url") }
}

/** Formats a key as its bearer sends it. */
export function formatKey({ id, secret }: KeyParts): string {
  return `awk_${id}_${secret}`
}

/** Returns the hash of a secret, which is all that is stored. A secret is random, so it needs no salt and no cost. */
export function hashSecret(secret: string): Buffer {
  return hash("sha256", secret, "buffer")
}

/** Returns whether a text has the form of a key's id. */
export function isKeyId(text: string): boolean {
  return /^[a-z0-9]{16}$/.test(text)
}

/** Returns whether an `authorization` header is meant as an API key, well-formed or not. */
export function claimsKey(header: string): boolean {
  return /^bearer +awk_/i.test(header)
}

/** Parses the key of an `authorization` header, `Bearer awk_…`. Returns undefined for anything else. */
export function parseKey(header: string): KeyParts | undefined {
  if (header.length !== headerLength || header[secretAt - 1] !== "_") return undefined
  if (!header.startsWith(opening) && !/^[Bb][Ee][Aa][Rr][Ee][Rr] awk_/.test(header)) return undefined
  const id = header.slice(opening.length, secretAt - 1)
  const secret = header.slice(secretAt)
  return isKeyId(id) && /^[\w-]{43}$/.test(secret) ? { id, secret } : undefined
}
