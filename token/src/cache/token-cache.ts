import { isCanonical } from "../canonical.js"
import type { Decrypted } from "../decrypt.js"
import { lru } from "./lru.js"

/** What is remembered of a token: what was in it, and the name of the key that decrypted it. No secret, and no key. */
export type Remembered = Pick<Decrypted, "enc" | "kid" | "content">

/** How many tokens are remembered by default. */
export const defaultCacheSize = 1000

/** How many bytes a token may take on average. That of an ordinary sign-in takes about 1,500. */
const bytesPerToken = 4096

/** What an entry takes beside its two texts: objects, a slot of the Map and the heads of the texts. */
const entryBytes = 384

const maxIdleMs = 3_600_000

/** The decrypted tokens that are remembered, by the whole text of the token. */
export interface TokenCache {
  /** What is remembered of a token. This does not count as a use: nobody without its secret changes what is remembered. */
  peek(token: string): Remembered | undefined
  /** Counts as a use of it. */
  use(token: string): void
  /**
   * Remembers a token that was decrypted and is valid, if it is in its canonical form: in others somebody with one token
   * could push out those of everybody else.
   */
  set(token: string, decrypted: Remembered): void
  /** Forgets a token, if this is still what is remembered of it. */
  delete(token: string, remembered: Remembered): void
  /** How many tokens are remembered, and how many bytes they take. */
  readonly count: number
  readonly bytes: number
}

/**
 * A cache of at most `size` tokens and 4 KiB for each. The least recently used go first, and at the next call those that
 * were not used for an hour.
 *
 * The text of a token alone does not open an entry: whoever finds one has to show that one of his secrets makes the key
 * that the entry names.
 *
 * @throws TypeError if the size is not a whole number from 0.
 */
export function tokenCache(size: number = defaultCacheSize, now?: () => number): TokenCache {
  if (!Number.isSafeInteger(size) || size < 0) throw new TypeError("cacheSize must be a whole number from 0")
  const entries = lru<Remembered>({ maxEntries: size, maxSize: size * bytesPerToken, maxIdleMs, now })
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

/**
 * The same text in memory of its own. A part of a text may be kept as a reference to the whole of it: a token would keep
 * the header or the message that it was cut from.
 */
function copyOf(token: string): string {
  return utf8.decoder.decode(utf8.encoder.encode(token))
}

/** A token is ASCII, one byte for each character. Its claims may hold any character, and then each takes two. */
function bytesOf(token: string, content: string): number {
  return token.length + 2 * content.length + entryBytes
}
