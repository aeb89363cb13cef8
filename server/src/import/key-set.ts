import { hash } from "node:crypto"

/**
 * A set of keys that takes 8 bytes for each: their digests. Of ten million keys two have the same with a probability of
 * one in 370,000. Keys are added first, and asked for afterwards.
 */
export class KeySet {
  #digests = new BigUint64Array(1024)
  #size = 0
  #isSorted = true
  #repeated: Set<bigint> | undefined

  add(digests: BigUint64Array): void {
    const size = this.#size + digests.length
    if (size > this.#digests.length) {
      const larger = new BigUint64Array(Math.max(size, this.#digests.length * 2))
      larger.set(this.#digests)
      this.#digests = larger
    }
    this.#digests.set(digests, this.#size)
    this.#size = size
    this.#isSorted = false
    this.#repeated = undefined
  }

  has(digest: bigint): boolean {
    const sorted = this.#sorted()
    let [low, high] = [0, sorted.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((sorted[middle] as bigint) < digest) low = middle + 1
      else high = middle
    }
    return sorted[low] === digest
  }

  /** The keys that were added more than once. */
  repeated(): ReadonlySet<bigint> {
    if (this.#repeated !== undefined) return this.#repeated
    const repeated = new Set<bigint>()
    const sorted = this.#sorted()
    for (let index = 1; index < sorted.length; index++) {
      if (sorted[index] === sorted[index - 1]) repeated.add(sorted[index] as bigint)
    }
    this.#repeated = repeated
    return repeated
  }

  #sorted(): BigUint64Array {
    const used = this.#digests.subarray(0, this.#size)
    if (!this.#isSorted) used.sort()
    this.#isSorted = true
    return used
  }
}

/** The digest of a key: the beginning of its SHA-256. */
export function digestOf(key: string): bigint {
  return hash("sha256", key, "buffer").readBigUInt64LE()
}
