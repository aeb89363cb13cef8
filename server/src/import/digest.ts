import { hash } from "node:crypto"

/**
 * Returns the digest of a key: 8 bytes of its SHA-256, as a signed number for SQLite. The probability that two of ten
 * million keys have the same digest is one in 370,000.
 */
export function digestOf(key: string): bigint {
  return hash("sha256", key, "buffer").readBigInt64LE()
}

/**
 * Returns the digest of a text after folding of case, accents and trailing spaces. Texts that a folding collation
 * considers equal have the same digest.
 */
export function foldedDigest(text: string): bigint {
  // A fast path, because there are many ids and nearly all of them have only these characters.
  const folded = /^[\w-]*$/.test(text) ? text : text.normalize("NFKD").replaceAll(/\p{M}/gu, "").trimEnd()
  return digestOf(folded.toLowerCase())
}
