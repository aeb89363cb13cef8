import { hash } from "node:crypto"
import { bytesOf, Scratch } from "./scratch.js"
import { firstFrom, SortedDigests } from "./sorted-digests.js"

/** The default for the number of digests that are kept in memory before they are written to a file. */
const defaultMaxInMemory = 2 ** 18

/**
 * The number of parts into which the digests are divided by their most significant byte. The bytes are evenly
 * distributed.
 */
const parts = 256

/** Sorted digests in a file, and the index at which each part begins. */
interface Run {
  position: number
  starts: number[]
}

/**
 * A set of keys, stored as digests of 8 bytes. The probability that two of ten million keys have the same digest is one
 * in 370,000. All keys must be added before the first lookup. A large set is stored in a temporary file, with one key
 * in 512 in memory.
 */
export class KeySet {
  readonly #maxInMemory: number
  /** The digests that are not in a run. */
  #digests = new BigUint64Array(1024)
  #size = 0
  readonly #runs: Run[] = []
  readonly #unmerged = new Scratch()
  #isSorted = false
  #merged: SortedDigests | undefined
  #repeated: Set<bigint> | undefined

  constructor(maxInMemory = defaultMaxInMemory) {
    this.#maxInMemory = maxInMemory
  }

  add(digests: BigUint64Array): void {
    if (digests.length === 0) return
    if (this.#isSorted) throw new Error("keys are added before they are asked for")
    if (this.#size + digests.length > this.#maxInMemory) this.#spill()
    const size = this.#size + digests.length
    if (size > this.#digests.length) {
      const larger = new BigUint64Array(Math.max(size, this.#digests.length * 2))
      larger.set(this.#digests)
      this.#digests = larger
    }
    this.#digests.set(digests, this.#size)
    this.#size = size
  }

  has(digest: bigint): boolean {
    this.#sort()
    if (this.#merged !== undefined) return this.#merged.has(digest)
    const sorted = this.#digests.subarray(0, this.#size)
    return sorted[firstFrom(sorted, digest)] === digest
  }

  /** Returns the keys that were added more than once. They are kept in memory. */
  repeated(): ReadonlySet<bigint> {
    if (this.#repeated !== undefined) return this.#repeated
    this.#sort()
    const repeated = new Set<bigint>()
    let before: bigint | undefined
    for (const block of this.#merged?.blocks() ?? [this.#digests.subarray(0, this.#size)]) {
      for (const digest of block) {
        if (digest === before) repeated.add(digest)
        before = digest
      }
    }
    this.#repeated = repeated
    return repeated
  }

  /** Closes the temporary files. */
  close(): void {
    this.#unmerged.close()
    this.#merged?.close()
  }

  /** Moves the digests from memory into a run. */
  #spill(): void {
    if (this.#size === 0) return
    const sorted = this.#digests.subarray(0, this.#size).sort()
    const starts = Array.from({ length: parts }, (_, part) => firstFrom(sorted, BigInt(part) << 56n))
    this.#runs.push({ position: this.#unmerged.append(bytesOf(sorted)), starts: [...starts, sorted.length] })
    this.#size = 0
  }

  #sort(): void {
    if (this.#isSorted) return
    this.#isSorted = true
    if (this.#runs.length === 0) this.#digests.subarray(0, this.#size).sort()
    else this.#merged = this.#merge()
  }

  /** Merges all runs into one file, one part after the other. */
  #merge(): SortedDigests {
    this.#spill()
    this.#digests = new BigUint64Array(0)
    const merged = new SortedDigests()
    for (let part = 0; part < parts; part++) {
      const pieces = this.#runs.map(({ position, starts }) => {
        const [start, end] = [starts[part] as number, starts[part + 1] as number]
        return { position: position + start * 8, length: end - start }
      })
      const digests = new BigUint64Array(pieces.reduce((sum, { length }) => sum + length, 0))
      let filled = 0
      for (const { position, length } of pieces) {
        this.#unmerged.read(position, bytesOf(digests.subarray(filled, filled + length)))
        filled += length
      }
      merged.append(digests.sort())
    }
    this.#unmerged.close()
    return merged
  }
}

/** Returns the digest of a key: the first 8 bytes of its SHA-256. */
export function digestOf(key: string): bigint {
  return hash("sha256", key, "buffer").readBigUInt64LE()
}
