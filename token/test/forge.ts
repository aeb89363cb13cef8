import { createCipheriv, createHmac, randomBytes } from "node:crypto"

/** What a token is made of. Whoever has the key can make any of these. */
export interface Forgery {
  key: Uint8Array
  enc?: "A256CBC-HS512" | "A256GCM"
  /** The first part as it is written: what the tag covers. */
  header: string
  content: string | Uint8Array
  /** For A256CBC-HS512: the content has its padding, or a wrong one, already. */
  padded?: boolean
  /** For A256CBC-HS512: the ciphertext in place of that of the content. */
  ciphertext?: Uint8Array
  /** For A256CBC-HS512. Default 32. */
  tagBytes?: number
}

/** A token whose tag is right, made with node:crypto: neither our code nor jose's has a say in what it holds. */
export function forge(forgery: Forgery): string {
  const { iv, ciphertext, tag } = forgery.enc === "A256GCM" ? gcm(forgery) : cbc(forgery)
  return [forgery.header, "", base64url(iv), base64url(ciphertext), base64url(tag)].join(".")
}

function gcm({ key, header, content }: Forgery) {
  const iv = randomBytes(12)
  const cipher = createCipheriv("aes-256-gcm", key, iv)
  cipher.setAAD(Buffer.from(header))
  const ciphertext = Buffer.concat([cipher.update(content), cipher.final()])
  return { iv, ciphertext, tag: cipher.getAuthTag() }
}

function cbc({ key, header, content, padded = false, ciphertext, tagBytes = 32 }: Forgery) {
  const iv = randomBytes(16)
  const cipher = createCipheriv("aes-256-cbc", key.subarray(32), iv).setAutoPadding(!padded)
  const encrypted = ciphertext ?? Buffer.concat([cipher.update(content), cipher.final()])
  const length = Buffer.alloc(8)
  length.writeBigUInt64BE(BigInt(Buffer.byteLength(header) * 8))
  const mac = createHmac("sha512", key.subarray(0, 32))
  for (const data of [header, iv, encrypted, length]) mac.update(data)
  return { iv, ciphertext: encrypted, tag: mac.digest().subarray(0, tagBytes) }
}

export const base64url = (data: string | Uint8Array): string => Buffer.from(data).toString("base64url")
