import { bytesOf, Scratch } from "./scratch.js"

/** The number of digests that are read at once. */
const blockLength = 512

/** Sorted digests in a file. A lookup reads one block of it. Only the first digest of each block is kept in memory. */
export class SortedDigests {
  readonly #scratch = new Scratch()
  readonly #block = new BigUint64Array(blockLength)
  #blockIndex = -1
  #size = 0
  /** The first digest of each block. */
  #firsts = new BigUint64Array(64)

  /** Appends digests. None of them may be smaller than those that were appended before. */
  append(sorted: BigUint64Array): void {
    this.#scratch.append(bytesOf(sorted))
    for (let index = -this.#size % blockLength; index < sorted.length; index += blockLength) {
      if (index >= 0) this.#setFirst((this.#size + index) / blockLength, sorted[index] as bigint)
    }
    this.#size += sorted.length
    this.#blockIndex = -1
  }

  has(digest: bigint): boolean {
    const firsts = this.#firsts.subarray(0, Math.ceil(this.#size / blockLength))
    const next = firstFrom(firsts, digest)
    const index = firsts[next] === digest ? next : next - 1
    if (index < 0) return false
    const block = this.#read(index)
    return block[firstFrom(block, digest)] === digest
  }

  /** Yields all digests. A block is valid only until the next one is read. */
  *blocks(): Generator<BigUint64Array> {
    for (let index = 0; index * blockLength < this.#size; index++) yield this.#read(index)
  }

  close(): void {
    this.#scratch.close()
  }

  #read(index: number): BigUint64Array {
    const block = this.#block.subarray(0, Math.min(blockLength, this.#size - index * blockLength))
    if (index !== this.#blockIndex) this.#scratch.read(index * blockLength * 8, bytesOf(block))
    this.#blockIndex = index
    return block
  }

  #setFirst(block: number, digest: bigint): void {
    if (block >= this.#firsts.length) {
      const larger = new BigUint64Array(this.#firsts.length * 2)
      larger.set(this.#firsts)
      this.#firsts = larger
    }
    this.#firsts[block] = digest
  }
}

/** Returns the index of the first element that is not smaller than `digest`. */
export function firstFrom(sorted: BigUint64Array, digest: bigint): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((sorted[middle] as bigint) < digest) low = middle + 1
    else high = middle
  }
  return low
}
