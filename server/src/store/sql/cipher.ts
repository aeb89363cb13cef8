import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from "node:crypto"
import { StoreError } from "../../errors/store-error.js"

/** Encrypts single values of rows. A value that was encrypted for one context cannot be decrypted in another. */
export interface Cipher {
  /**
   * Encrypts a value.
   *
   * @param context what the value is bound to: its row and its column.
   * @param secret what is required to decrypt the value, in addition to the key. Default: nothing.
   */
  seal(value: string, context: readonly string[], secret?: string): string
  /**
   * Decrypts a value of `seal`. Throws ENCRYPTION_KEY_MISSING if no key fits, if the value was changed or belongs to
   * another context, and if it was never sealed.
   */
  open(stored: string, context: readonly string[], secret?: string): string
  /** Returns whether `seal` would use the same key now. */
  isCurrent(stored: string): boolean
}

/** The length of a key, in bytes. */
export const keyBytes = 32

const algorithm = "aes-256-gcm"
const prefix = "sealed.1."
const ivBytes = 12
const tagBytes = 16

/**
 * Creates a cipher with AES-256-GCM and a random initialisation vector for every value. The form of a sealed value is
 * `sealed.1.<key id>.<base64url of iv, text and tag>`. A key may seal 2^32 values (NIST SP 800-38D, section 8.3).
 *
 * @param keys of 32 bytes each, at least one: the first one seals, all of them decrypt.
 */
export function createCipher(keys: readonly Buffer[]): Cipher {
  const [first] = keys
  if (first === undefined || keys.some((key) => key.length !== keyBytes)) {
    throw new TypeError(`a cipher needs keys of ${keyBytes} bytes`)
  }
  const current = `${prefix}${idOf(first)}.`
  // From bytes Node would create a key object for every value, which takes longer than the encryption.
  const sealing = createSecretKey(first)
  const byId = new Map(keys.map((key) => [idOf(key), createSecretKey(key)]))

  return {
    seal(value, context, secret) {
      const iv = randomBytes(ivBytes)
      const cipher = createCipheriv(algorithm, withSecret(sealing, secret), iv, { authTagLength: tagBytes })
      cipher.setAAD(bytesOf(context))
      const sealed = [iv, cipher.update(value, "utf8"), cipher.final(), cipher.getAuthTag()]
      return current + Buffer.concat(sealed).toString("base64url")
    },

    open(stored, context, secret) {
      if (!stored.startsWith(prefix)) throw keyMissing("the value is not encrypted, or has an unknown form")
      const [id = "", text = ""] = stored.slice(prefix.length).split(".", 2)
      const key = byId.get(id)
      const sealed = Buffer.from(text, "base64url")
      if (key === undefined)
        throw keyMissing(`no key has the id ${/^[\w-]{1,16}$/.test(id) ? id : "that the value names"}`)
      if (sealed.length < ivBytes + tagBytes) throw keyMissing("the value is truncated")
      const end = sealed.length - tagBytes
      const iv = sealed.subarray(0, ivBytes)
      const decipher = createDecipheriv(algorithm, withSecret(key, secret), iv, { authTagLength: tagBytes })
      decipher.setAAD(bytesOf(context))
      decipher.setAuthTag(sealed.subarray(end))
      const opened = decipher.update(sealed.subarray(ivBytes, end))
      try {
        return Buffer.concat([opened, decipher.final()]).toString("utf8")
      } catch {
        throw keyMissing("the value was changed, or belongs to another row")
      }
    },

    isCurrent: (stored) => stored.startsWith(current),
  }
}

/** Derives a key from a secret that has other uses too. The key reveals nothing about the secret. */
export function keyFromSecret(secret: string): Buffer {
  return Buffer.from(hkdfSync("sha256", secret, "", "Authwire encryption of provider tokens", keyBytes))
}

/** Derives a key for a separate purpose from a key of a cipher. Neither key decrypts values of the other. */
export function derivedKey(key: Buffer | KeyObject, end: string): Buffer {
  return Buffer.from(hkdfSync("sha256", key, "", end, keyBytes))
}

/**
 * Returns the key for a value that also takes a secret. It is the single block of HKDF-Expand, which has the length of
 * the key (RFC 5869, section 2.3). The extract step is not needed, because the key is random already.
 */
function withSecret(key: KeyObject, secret: string | undefined): KeyObject {
  if (secret === undefined) return key
  const block = createHmac("sha256", key).update(`Authwire secret of a value: ${secret}\x01`)
  return createSecretKey(block.digest())
}

/** Returns the id of a key for its sealed values. It reveals nothing about the key. */
function idOf(key: Buffer): string {
  return Buffer.from(hkdfSync("sha256", key, "", "Authwire encryption key id", 6)).toString("base64url")
}

function bytesOf(context: readonly string[]): Buffer {
  return Buffer.from(JSON.stringify(context))
}

function keyMissing(why: string): StoreError {
  return new StoreError("ENCRYPTION_KEY_MISSING", "a stored value cannot be decrypted", { cause: new Error(why) })
}
