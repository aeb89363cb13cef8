import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from "node:crypto"
import { StoreError } from "../error.js"

/** Encrypts single values of rows. What was encrypted for one place cannot be read at another. */
export interface Cipher {
  /**
   * @param place what the value is bound to: its row and its column.
   * @param secret what else it takes to open the value, beside the key. Default: nothing.
   */
  seal(value: string, place: readonly string[], secret?: string): string
  /**
   * Reads what `seal` made. A value that was never sealed is returned as it is. Throws ENCRYPTION_KEY_MISSING when no
   * key fits, or when the value was changed or comes from another place.
   */
  open(stored: string, place: readonly string[], secret?: string): string
  /** Whether `seal` would use the same key now. */
  isCurrent(stored: string): boolean
}

/** The length of a key, in bytes. */
export const keyBytes = 32

const algorithm = "aes-256-gcm"
const prefix = "sealed.1."
const ivBytes = 12
const tagBytes = 16

/**
 * AES-256-GCM with a random initialisation vector for every value: `sealed.1.<key id>.<base64url of iv, text and tag>`.
 * A key may seal 2^32 values (NIST SP 800-38D, section 8.3).
 *
 * @param keys of 32 bytes each, at least one: the first seals, all open.
 */
export function createCipher(keys: readonly Buffer[]): Cipher {
  const [first] = keys
  if (first === undefined || keys.some((key) => key.length !== keyBytes)) {
    throw new TypeError(`a cipher needs keys of ${keyBytes} bytes`)
  }
  const current = `${prefix}${idOf(first)}.`
  // Of bytes Node would make such an object for every value, which takes longer than to encrypt it.
  const sealing = createSecretKey(first)
  const byId = new Map(keys.map((key) => [idOf(key), createSecretKey(key)]))

  return {
    seal(value, place, secret) {
      const iv = randomBytes(ivBytes)
      const cipher = createCipheriv(algorithm, withSecret(sealing, secret), iv, { authTagLength: tagBytes })
      cipher.setAAD(bytesOf(place))
      const sealed = [iv, cipher.update(value, "utf8"), cipher.final(), cipher.getAuthTag()]
      return current + Buffer.concat(sealed).toString("base64url")
    },

    open(stored, place, secret) {
      if (!stored.startsWith(prefix)) return stored
      const [id = "", text = ""] = stored.slice(prefix.length).split(".", 2)
      const key = byId.get(id)
      const sealed = Buffer.from(text, "base64url")
      if (key === undefined)
        throw keyMissing(`no key has the id ${/^[\w-]{1,16}$/.test(id) ? id : "that the value names"}`)
      if (sealed.length < ivBytes + tagBytes) throw keyMissing("the value is cut short")
      const end = sealed.length - tagBytes
      const iv = sealed.subarray(0, ivBytes)
      const decipher = createDecipheriv(algorithm, withSecret(key, secret), iv, { authTagLength: tagBytes })
      decipher.setAAD(bytesOf(place))
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

/** Derives a key from a secret that serves other ends too. Nothing of the secret can be learned from it. */
export function keyFromSecret(secret: string): Buffer {
  return Buffer.from(hkdfSync("sha256", secret, "", "Authwire encryption of provider tokens", keyBytes))
}

/** Derives a key for an end of its own from one of a cipher: what the one sealed, the other does not open. */
export function derivedKey(key: Buffer | KeyObject, end: string): Buffer {
  return Buffer.from(hkdfSync("sha256", key, "", end, keyBytes))
}

/**
 * The key for a value that takes a secret too, by the one block of HKDF-Expand that has its length (RFC 5869, section 2.3).
 * The key is a random one already, so there is nothing to extract.
 */
function withSecret(key: KeyObject, secret: string | undefined): KeyObject {
  if (secret === undefined) return key
  const block = createHmac("sha256", key).update(`Authwire secret of a value: ${secret}\x01`)
  return createSecretKey(block.digest())
}

/** Names a key in what it sealed, and tells nothing of it. */
function idOf(key: Buffer): string {
  return Buffer.from(hkdfSync("sha256", key, "", "Authwire encryption key id", 6)).toString("base64url")
}

function bytesOf(place: readonly string[]): Buffer {
  return Buffer.from(JSON.stringify(place))
}

function keyMissing(why: string): StoreError {
  return new StoreError("ENCRYPTION_KEY_MISSING", "a stored value cannot be decrypted", { cause: new Error(why) })
}
