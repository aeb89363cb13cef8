import type { Octets } from "./base64url.js"
import type { Encrypted } from "./encrypted.js"
import { TokenMalformed } from "./error.js"

/** A key of A256GCM. Auth.js encrypts nothing with it, but accepts it. */
export interface A256Gcm {
  /**
   * The plaintext, or undefined if the key is another or something was changed.
   *
   * @throws TokenMalformed if the IV has not 12 octets, or the tag not 16.
   */
  decrypt(encrypted: Encrypted): Promise<Octets | undefined>
}

/** Takes the 32 octets of a key: AES GCM (RFC 7518, section 5.3). */
export async function a256gcm(octets: Octets): Promise<A256Gcm> {
  const key = await crypto.subtle.importKey("raw", octets, "AES-GCM", false, ["decrypt"])
  return {
    async decrypt({ aad, iv, ciphertext, tag }) {
      // RFC 7518, section 5.3: "Use of an IV of size 96 bits is REQUIRED with this algorithm. The requested size of the
      // Authentication Tag output MUST be 128 bits, regardless of the key size."
      if (iv.length !== 12 || tag.length !== 16) throw new TokenMalformed()
      const data = new Uint8Array(ciphertext.length + tag.length)
      data.set(ciphertext)
      data.set(tag, ciphertext.length)
      try {
        const algorithm = { name: "AES-GCM", iv, additionalData: aad, tagLength: 128 }
        return new Uint8Array(await crypto.subtle.decrypt(algorithm, key, data))
      } catch {
        return undefined
      }
    },
  }
}
