import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  hkdfSync,
  randomBytes,
  randomUUID,
  timingSafeEqual,
} from "node:crypto"
import { calculateJwkThumbprint } from "jose"

/** The key of Auth.js for a secret and a salt, and its thumbprint. */
export async function derive(secret: string, salt: string) {
  const key = Buffer.from(hkdfSync("sha256", secret, salt, `Auth.js Generated Encryption Key (${salt})`, 64))
  return { key, kid: await calculateJwkThumbprint({ kty: "oct", k: key.toString("base64url") }, "sha512") }
}

/**
 * What a synchronous path of `dir` with A256CBC-HS512 (RFC 7518, section 5.2.5) on node:crypto would do, for the
 * measurement alone: it is not in the product, and checks less than jose does.
 */
export async function createSyncTokens(secret: string, salt: string) {
  const { key, kid } = await derive(secret, salt)
  const [macKey, encryptionKey] = [key.subarray(0, 32), key.subarray(32)]

  function tagOf(header: string, iv: Buffer, ciphertext: Buffer): Buffer {
    const length = Buffer.alloc(8)
    length.writeBigUInt64BE(BigInt(header.length * 8))
    return createHmac("sha512", macKey)
      .update(header)
      .update(iv)
      .update(ciphertext)
      .update(length)
      .digest()
      .subarray(0, 32)
  }

  return {
    encode(claims: object): string {
      const iat = Math.floor(Date.now() / 1000)
      const header = Buffer.from(JSON.stringify({ alg: "dir", enc: "A256CBC-HS512", kid })).toString("base64url")
      const iv = randomBytes(16)
      const cipher = createCipheriv("aes-256-cbc", encryptionKey, iv)
      const text = JSON.stringify({ ...claims, iat, exp: iat + 2_592_000, jti: randomUUID() })
      const ciphertext = Buffer.concat([cipher.update(text, "utf8"), cipher.final()])
      const tag = tagOf(header, iv, ciphertext)
      return `${header}..${iv.toString("base64url")}.${ciphertext.toString("base64url")}.${tag.toString("base64url")}`
    },

    decode(token: string): Record<string, unknown> {
      const [header = "", , iv = "", ciphertext = "", tag = ""] = token.split(".")
      const { alg, enc, kid: named, zip } = JSON.parse(Buffer.from(header, "base64url").toString())
      if (alg !== "dir" || enc !== "A256CBC-HS512" || named !== kid || zip !== undefined)
        throw new Error("another header")
      const [ivBytes, bytes] = [Buffer.from(iv, "base64url"), Buffer.from(ciphertext, "base64url")]
      if (!timingSafeEqual(tagOf(header, ivBytes, bytes), Buffer.from(tag, "base64url"))) throw new Error("another key")
      const decipher = createDecipheriv("aes-256-cbc", encryptionKey, ivBytes)
      const claims = JSON.parse(Buffer.concat([decipher.update(bytes), decipher.final()]).toString())
      const now = Math.floor(Date.now() / 1000)
      if (typeof claims.exp !== "number" || claims.exp <= now - 15) throw new Error("expired")
      return claims
    },
  }
}
