import { hash } from "node:crypto"

/**
 * A set of keys that takes 8 bytes for each: the beginnings of their SHA-256. Of ten million keys two have the same with
 * a probability of one in 370,000. Keys are added first, and asked for afterwards.
 */
export class KeySet {
  #digests = new BigUint64Array(1024)
  #size = 0
  #isSorted = true
  #repeated: Set<bigint> | undefined

  /** How many were added, those that were there already included. */
  get size(): number {
    return this.#size
  }

  add(key: string): void {
    if (this.#size === this.#digests.length) {
      const larger = new BigUint64Array(this.#size * 2)
      larger.set(this.#digests)
      this.#digests = larger
    }
    this.#digests[this.#size++] = digestOf(key)
    this.#isSorted = false
    this.#repeated = undefined
  }

  has(key: string): boolean {
    const sorted = this.#sorted()
    const wanted = digestOf(key)
    let [low, high] = [0, sorted.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((sorted[middle] as bigint) < wanted) low = middle + 1
      else high = middle
    }
    return sorted[low] === wanted
  }

  /** How many keys were added more than once. */
  repeated(): number {
    return this.#repeatedDigests().size
  }

  /** Whether a key was added more than once. */
  isRepeated(key: string): boolean {
    const digests = this.#repeatedDigests()
    return digests.size > 0 && digests.has(digestOf(key))
  }

  #repeatedDigests(): Set<bigint> {
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

function digestOf(key: string): bigint {
  return hash("sha256", key, "buffer").readBigUInt64LE()
}
