import { Code, ConnectError } from "@connectrpc/connect"
import { inOwnMemory } from "../limits/request-body.js"
import { lengthInPrefix, prefixBytes, withPrefix } from "../listener/prefix.js"

/**
 * The messages of a request, which its method decodes. Connect gets an empty message for each, so that it still answers requests that
 * break the rules of the protocol.
 */
export interface Whole {
  /** Returns what Connect gets now that a chunk has arrived. */
  received(chunk: Uint8Array): readonly Uint8Array[]
  /** Returns what Connect gets at the end of the request. Throws if that is not the end of a message. */
  ended(): readonly Uint8Array[]
  /** Returns the message that Connect has read an empty one for. */
  next(): Uint8Array
}

/** What Connect says of a request that ends within a message. */
const incompleteEnvelope = "protocol error: incomplete envelope"

/** A request that is one message. Passes everything on once it is too large, which Connect rejects. */
export class WholeMessage implements Whole {
  readonly #maxMessageBytes: number
  readonly #empty: Uint8Array
  #held: Uint8Array[] = []
  #bytes = 0

  /** @param empty An empty message. */
  constructor(maxMessageBytes: number, empty: Uint8Array) {
    this.#maxMessageBytes = maxMessageBytes
    this.#empty = empty
  }

  received(chunk: Uint8Array): readonly Uint8Array[] {
    this.#held.push(chunk)
    this.#bytes += chunk.length
    return this.#bytes > this.#maxMessageBytes ? this.#held.splice(0) : []
  }

  ended(): readonly Uint8Array[] {
    return [this.#empty]
  }

  next(): Uint8Array {
    // The bytes are not kept for the duration of the call.
    return joined(this.#held.splice(0))
  }
}

/** The flag of a compressed message, which Connect rejects where it reads the message. Other flags it ignores, or skips the message. */
const compressed = 1

/** The size of a buffer that several messages may share, in bytes: about that of the largest chunk. */
const sharedBytes = 64 * 1024

/**
 * A request whose messages have prefixes. Passes a message on as it is if it is too large, which Connect rejects, and flags one as
 * compressed that has any flag. Connect gets no part of a message before it is complete, because it allocates a message as soon as it has
 * the length in the prefix.
 */
export class WholeMessages implements Whole {
  readonly #maxMessageBytes: number
  readonly #empty: Uint8Array
  readonly #flagged = withPrefix(compressed, Buffer.of())
  readonly #prefix = Buffer.alloc(prefixBytes)
  /** What has arrived of the prefix of the current message. */
  #prefixLength = 0
  /** What is missing of the current message after its prefix. */
  #missing = 0
  #held: Uint8Array[] = []
  readonly #messages: Uint8Array[] = []

  /** @param empty An empty message, without a prefix. */
  constructor(maxMessageBytes: number, empty: Uint8Array) {
    this.#maxMessageBytes = maxMessageBytes
    this.#empty = withPrefix(0, empty)
  }

  next(): Uint8Array {
    const message = this.#messages.shift()
    if (message === undefined) throw new Error("Connect has read a message that has not arrived")
    return message
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
    const whole = joined([...this.#held, chunk.subarray(0, end)])
    this.#held = end === chunk.length ? [] : [chunk.subarray(end)]
    return this.#emptied(whole)
  }

  #emptied(bytes: Uint8Array): Uint8Array[] {
    const passed: Uint8Array[] = []
    let at = 0
    while (at + prefixBytes <= bytes.length) {
      const end = at + prefixBytes + lengthInPrefix(bytes.subarray(at))
      // It is too large.
      if (end - at - prefixBytes > this.#maxMessageBytes) break
      if (bytes[at] === 0) {
        const message = bytes.subarray(at + prefixBytes, end)
        // Copied, because otherwise a small message would keep a large one in memory that arrived with it and was read before.
        this.#messages.push(bytes.length > sharedBytes ? inOwnMemory(message) : message)
      }
      passed.push(bytes[at] === 0 ? this.#empty : this.#flagged)
      at = end
    }
    return at === bytes.length ? passed : [...passed, bytes.subarray(at)]
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
