import { Code, ConnectError } from "@connectrpc/connect"
import { lengthInPrefix, prefixBytes } from "../listener/prefix.js"

/** Holds back the chunks of a request until a message is complete. */
export interface Whole {
  /** Returns what may be passed on now that a chunk has arrived. */
  received(chunk: Uint8Array): readonly Uint8Array[]
  /** Returns what is left at the end of the request. Throws if that is not a whole message. */
  ended(): readonly Uint8Array[]
}

/** Throws if a message may not be decoded. Called for each that is complete. */
type Check = (message: Uint8Array) => void

/** What Connect says of a request that ends within a message. */
const incompleteEnvelope = "protocol error: incomplete envelope"

/** Holds back a request that is one message. Passes everything on once it is too large, which Connect rejects. */
export class WholeMessage implements Whole {
  readonly #maxMessageBytes: number
  readonly #check: Check
  #held: Uint8Array[] = []
  #bytes = 0

  constructor(maxMessageBytes: number, check: Check) {
    this.#maxMessageBytes = maxMessageBytes
    this.#check = check
  }

  received(chunk: Uint8Array): readonly Uint8Array[] {
    this.#held.push(chunk)
    this.#bytes += chunk.length
    return this.#bytes > this.#maxMessageBytes ? this.#held.splice(0) : []
  }

  ended(): readonly Uint8Array[] {
    this.#check(joined(this.#held))
    return this.#held
  }
}

/**
 * Holds back the chunks of a request whose messages have prefixes until a message is complete, because Connect allocates a
 * message as soon as it has the length in the prefix. Passes everything on once a message is too large, which Connect rejects.
 */
export class WholeMessages implements Whole {
  readonly #maxMessageBytes: number
  readonly #check: Check
  readonly #prefix = Buffer.alloc(prefixBytes)
  /** What has arrived of the prefix of the current message. */
  #prefixLength = 0
  /** What is missing of the current message after its prefix. */
  #missing = 0
  #held: Uint8Array[] = []

  constructor(maxMessageBytes: number, check: Check) {
    this.#maxMessageBytes = maxMessageBytes
    this.#check = check
  }

  ended(): readonly Uint8Array[] {
    if (this.#held.length > 0) throw new ConnectError(incompleteEnvelope, Code.InvalidArgument)
    return []
  }

  received(chunk: Uint8Array): readonly Uint8Array[] {
    const end = this.#endOfWhole(chunk)
    if (end === 0) {
      this.#held.push(chunk)
      return []
    }
    const whole = [...this.#held, chunk.subarray(0, end)]
    this.#held = end === chunk.length ? [] : [chunk.subarray(end)]
    this.#checkAll(joined(whole))
    return whole
  }

  #checkAll(bytes: Uint8Array): void {
    for (let at = 0; at + prefixBytes <= bytes.length; ) {
      const message = at + prefixBytes
      const end = message + lengthInPrefix(bytes.subarray(at))
      // It is too large.
      if (end > bytes.length) return
      this.#check(bytes.subarray(message, end))
      at = end
    }
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

function joined(chunks: readonly Uint8Array[]): Uint8Array {
  const [only] = chunks
  return chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks)
}
