/**
 * The length of the prefix of each message of gRPC, of gRPC-Web and of a Connect stream, in bytes: a flag, and a length
 * of four bytes.
 */
const prefixBytes = 5

/** Tracks the message boundaries in a body without copying the messages. */
export class Envelopes {
  /** The number of bytes received of the incomplete message, including its prefix. */
  partialBytes = 0
  /** The number of complete messages. */
  whole = 0
  /**
   * The length of the incomplete message according to its prefix, without the prefix. 0 until the prefix is complete.
   */
  get length(): number {
    return this.partialBytes < prefixBytes ? 0 : this.#length
  }
  #length = 0

  read(chunk: Uint8Array): void {
    let at = 0
    while (at < chunk.length) {
      if (this.partialBytes < prefixBytes) {
        if (this.partialBytes > 0) this.#length = this.#length * 256 + (chunk[at] as number)
        at++
        this.partialBytes++
      } else {
        const read = Math.min(chunk.length - at, this.#length + prefixBytes - this.partialBytes)
        at += read
        this.partialBytes += read
      }
      if (this.partialBytes >= prefixBytes && this.partialBytes === this.#length + prefixBytes) {
        this.whole++
        this.partialBytes = 0
        this.#length = 0
      }
    }
  }
}
