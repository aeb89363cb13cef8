/** A flag and a length of four bytes, before each message of gRPC, of gRPC-Web and of a stream of Connect. */
const prefixBytes = 5

/** Follows the messages in a body, without a copy of them. */
export class Envelopes {
  /** How many bytes of a message that is not whole have come, its prefix included. */
  partialBytes = 0
  /** How many messages are whole. */
  whole = 0
  /** How many bytes that message says it has, without its prefix; 0 as long as that is not known. */
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
