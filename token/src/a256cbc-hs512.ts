import type { Octets } from "./base64url.js"
import type { Encrypted } from "./encrypted.js"
import { TokenMalformed } from "./error.js"

/** A key of A256CBC-HS512. */
export interface A256CbcHs512 {
  encrypt(plaintext: Octets, aad: Octets): Promise<Encrypted>
  /**
   * The plaintext, or undefined if the key is another or something was changed. No result, and no time it takes, tells
   * more than that.
   *
   * @throws TokenMalformed if the IV has not 16 octets, or there is no tag.
   */
  decrypt(encrypted: Encrypted): Promise<Octets | undefined>
}

/** Takes the 64 octets of a key: AES_256_CBC_HMAC_SHA_512 (RFC 7518, section 5.2.5). */
export async function a256cbcHs512(key: Octets): Promise<A256CbcHs512> {
  // RFC 7518, section 5.2.2.1, step 1: "MAC_KEY consists of the initial MAC_KEY_LEN octets of K, in order. ENC_KEY
  // consists of the final ENC_KEY_LEN octets of K, in order."
  const [macKey, encKey] = await Promise.all([
    crypto.subtle.importKey("raw", key.subarray(0, 32), { name: "HMAC", hash: "SHA-512" }, false, ["sign"]),
    crypto.subtle.importKey("raw", key.subarray(32, 64), "AES-CBC", false, ["encrypt", "decrypt"]),
  ])

  async function tagOf(aad: Octets, iv: Octets, ciphertext: Octets): Promise<Octets> {
    const data = new Uint8Array(aad.length + iv.length + ciphertext.length + 8)
    // Step 5: "the Additional Authenticated Data A, the Initialization Vector IV, the ciphertext E computed in the
    // previous step, and the octet string AL defined above".
    data.set(aad)
    data.set(iv, aad.length)
    data.set(ciphertext, aad.length + iv.length)
    // Step 4: "The octet string AL is equal to the number of bits in the Additional Authenticated Data A expressed as a
    // 64-bit unsigned big-endian integer."
    new DataView(data.buffer).setBigUint64(data.length - 8, BigInt(aad.length * 8))
    // Step 5: "The first T_LEN octets of M are used as T." (T_LEN: section 5.2.5.)
    return new Uint8Array(await crypto.subtle.sign("HMAC", macKey, data), 0, 32)
  }

  return {
    async encrypt(plaintext, aad) {
      // Step 2: "The IV used is a 128-bit value generated randomly or pseudorandomly for use in the cipher."
      const iv = crypto.getRandomValues(new Uint8Array(16))
      // Step 3: "The plaintext is CBC encrypted using PKCS #7 padding using ENC_KEY as the key and the IV."
      const ciphertext = new Uint8Array(await crypto.subtle.encrypt({ name: "AES-CBC", iv }, encKey, plaintext))
      return { aad, iv, ciphertext, tag: await tagOf(aad, iv, ciphertext) }
    },

    async decrypt({ aad, iv, ciphertext, tag }) {
      if (iv.length !== 16 || tag.length === 0) throw new TokenMalformed()
      // RFC 7518, section 5.2.2.2, step 2: if the tags are not identical, "all of the data used in the MAC validation are
      // discarded, and the authenticated decryption operation returns an indication that it failed, and the operation
      // halts." So nothing is decrypted, and padding answers no questions.
      if (!sameTag(await tagOf(aad, iv, ciphertext), tag)) return undefined
      try {
        // Step 3: "The value E is decrypted and the PKCS #7 padding is checked and removed."
        return new Uint8Array(await crypto.subtle.decrypt({ name: "AES-CBC", iv }, encKey, ciphertext))
      } catch {
        return undefined
      }
    },
  }
}

/** Looks at every octet, wherever the first difference is: time must not tell how much of a forged tag is right. */
function sameTag(computed: Octets, received: Octets): boolean {
  let difference = computed.length ^ received.length
  for (let at = 0; at < computed.length; at++) difference |= (computed[at] as number) ^ (received[at] ?? 0)
  return difference === 0
}
