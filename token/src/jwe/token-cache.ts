import type { Decrypted } from "./decrypt.js"
import { lru } from "./lru.js"

/** The cached data of a token: its content, encryption and key identifier. No secret and no key. */
export type CachedToken = Pick<Decrypted, "enc" | "kid" | "content">

/** The default of the maximum number of cached tokens. */
const defaultCacheSize = 1000

/** The average memory limit of a token, in bytes. The token of an ordinary sign-in takes about 1,500. */
const bytesPerToken = 4096

/** The memory of an entry beside its two strings, in bytes: objects, a slot of the Map, the strings' headers. */
const entryBytes = 384

const maxIdleMs = 3_600_000

/** A cache of decrypted tokens. Its key is the whole text of the token. */
export interface TokenCache {
  /** Returns the data of a token. This is no use, so that whoever lacks the secret has no influence on the cache. */
  peek(token: string): CachedToken | undefined
  /** Marks a token as used. */
  use(token: string): void
  /**
   * Caches a decrypted, valid token if it is in its canonical form. Other forms are not cached, because a client with
   * one token could create many of them and so evict the tokens of all other clients.
   */
  set(token: string, decrypted: CachedToken): void
  /** Removes a token, if its cached data is still the given object. */
  delete(token: string, remembered: CachedToken): void
  /** The number of cached tokens, and their memory in bytes. */
  readonly count: number
  readonly bytes: number
}

/**
 * Creates a cache of at most `size` tokens and 4 KiB times `size`. The least recently used tokens are evicted first.
 * Tokens that were not used for an hour are removed at the next call.
 *
 * The text of a token alone does not give access to its entry: the caller must have a secret that derives the key that
 * the entry names.
 *
 * @throws TypeError if the size is not a whole number from 0.
 */
export function tokenCache(size: number = defaultCacheSize): TokenCache {
  if (!Number.isSafeInteger(size) || size < 0) throw new TypeError("cacheSize must be a whole number from 0")
  const entries = lru<CachedToken>({ maxEntries: size, maxSize: size * bytesPerToken, maxIdleMs })
  return {
    peek: entries.peek,
    use: entries.get,
    set(token, { enc, kid, content }) {
      if (size === 0 || !isCanonical(token)) return
      entries.set(copyOf(token), { enc, kid, content }, bytesOf(token, content))
    },
    delete: entries.delete,
    get count() {
      return entries.count
    },
    get bytes() {
      return entries.size
    },
  }
}

const utf8 = { encoder: new TextEncoder(), decoder: new TextDecoder() }

/** Copies a string into its own memory. A substring may keep the whole string that it was cut from. */
function copyOf(token: string): string {
  return utf8.decoder.decode(utf8.encoder.encode(token))
}

/** Returns the memory of an entry, in bytes: one for each character of a token, two for each of its claims. */
function bytesOf(token: string, content: string): number {
  return token.length + 2 * content.length + entryBytes
}

/** The valid last characters of a part, by its length modulo 4, for which the unused bits are 0. */
const lastCharacters: Readonly<Record<number, string>> = { 2: "AQgw", 3: "AEIMQUYcgkosw048" }

/**
 * Returns whether a decrypted token is in the canonical form, in which issuers write it: base64url without white space,
 * padding or set unused bits (RFC 4648, section 3.5). Auth.js also accepts other forms, so that a client with one token
 * can create many of them.
 */
export function isCanonical(token: string): boolean {
  if (/[^\w.-]/.test(token)) return false
  return token.split(".").every((part) => lastCharacters[part.length % 4]?.includes(part.slice(-1)) ?? true)
}
