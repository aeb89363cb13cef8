import { hash, randomBytes, randomInt } from "node:crypto"

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
  const id = Array.from({ length: 16 }, () => idAlphabet[randomInt(idAlphabet.length)]).join("")
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

/** The form of the header. The name of the scheme is case-insensitive, the key is not. */
const headerForm = /^[Bb][Ee][Aa][Rr][Ee][Rr] awk_([a-z0-9]{16})_([\w-]{43})$/

/** Parses the key of an `authorization` header, `Bearer awk_…`. Returns undefined for anything else. */
export function parseKey(header: string): KeyParts | undefined {
  const [, id, secret] = headerForm.exec(header) ?? []
  return id === undefined || secret === undefined ? undefined : { id, secret }
}
