import { a256cbcHs512 } from "./a256cbc-hs512.js"
import { a256gcm } from "./a256gcm.js"
import { derivedKey, type Encryption } from "./derived-key.js"
import { keyCache } from "./key-cache.js"

const ciphers = { "A256CBC-HS512": a256cbcHs512, A256GCM: a256gcm }

/** A content encryption key in use, and what tokens call it. */
export interface ContentKey<E extends Encryption> {
  readonly kid: string
  readonly cipher: Awaited<ReturnType<(typeof ciphers)[E]>>
}

/**
 * The key of a secret and a salt, ready for use.
 *
 * Keys are remembered by the module and not by an object of the caller's, because the functions of the contract take
 * none. They depend on nothing but the arguments, so that shows in nothing but the time it takes. WebCrypto holds them,
 * and does not give them out again.
 *
 * @throws TypeError if the secret is not a string or is empty, or the salt is not a string or longer than 989 bytes.
 */
export async function contentKey<E extends Encryption>(secret: string, salt: string, enc: E): Promise<ContentKey<E>> {
  if (typeof salt !== "string") throw new TypeError("the parameter salt must be a string")
  return remembered(secret, salt, enc) as Promise<ContentKey<E>>
}

const remembered = keyCache(async (secret: string, salt: string, enc: Encryption) => {
  const { key, kid } = await derivedKey(secret, salt, enc)
  return { kid, cipher: await ciphers[enc](key) }
})
