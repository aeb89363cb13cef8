import { lengthInPrefix, prefixBytes } from "../listener/prefix.js"

/**
 * Holds back the chunks of a request whose messages have prefixes until a message is complete, because Connect allocates a
 * message as soon as it has the length in the prefix. Passes everything on once a message is too large, which Connect rejects.
 */
export class WholeMessages {
  readonly #maxMessageBytes: number
  readonly #prefix = Buffer.alloc(prefixBytes)
  /** What has arrived of the prefix of the current message. */
  #prefixLength = 0
  /** What is missing of the current message after its prefix. */
  #missing = 0
  #held: Uint8Array[] = []

  constructor(maxMessageBytes: number) {
    this.#maxMessageBytes = maxMessageBytes
  }

  /** Whether a message has begun and is incomplete. */
  get isIncomplete(): boolean {
    return this.#held.length > 0
  }

  /** Returns what may be passed on now that a chunk has arrived. */
  received(chunk: Uint8Array): readonly Uint8Array[] {
    const end = this.#endOfWhole(chunk)
    if (end === 0) {
      this.#held.push(chunk)
      return []
    }
    const whole = [...this.#held, chunk.subarray(0, end)]
    this.#held = end === chunk.length ? [] : [chunk.subarray(end)]
    return whole
  }

  /** Returns where the last message ends that is complete with this chunk; 0 if there is none. */
  #endOfWhole(chunk: Uint8Array): number {
    let end = 0
    for (let at = 0; at < chunk.length; ) {
      if (this.#prefixLength < prefixBytes) {
        this.#prefix[this.#prefixLength++] = chunk[at++] as number
        if (this.#prefixLength < prefixBytes) continue
        this.#missing = lengthInPrefix(this.#prefix)
        if (this.#missing > this.#maxMessageBytes) return chunk.length
      }
      const part = Math.min(this.#missing, chunk.length - at)
      this.#missing -= part
      at += part
      if (this.#missing > 0) continue
      this.#prefixLength = 0
      end = at
    }
    return end
  }
}
