import { Code } from "@connectrpc/connect"
import { Failure, invalidField } from "../../errors/failure.js"
import { inOwnMemory, type RequestBody } from "../limits/request-body.js"
import { flaggedMessage } from "../listener/content-type.js"
import { lengthInPrefix, prefixBytes } from "../listener/prefix.js"

/** The messages of a gRPC request. No byte of it is read before the first message is asked for. */
export class RequestMessages {
  readonly #body: RequestBody
  readonly #maxMessageBytes: number
  /** What was received and belongs to no message that was returned. */
  #chunks: Uint8Array[] = []
  #bytes = 0

  constructor(body: RequestBody, maxMessageBytes: number) {
    this.#body = body
    this.#maxMessageBytes = maxMessageBytes
  }

  /** Returns the next message, undefined at the end. Nothing further is read until it is called again. */
  async next(): Promise<Uint8Array | undefined> {
    for (;;) {
      const end = this.#bytes < prefixBytes ? undefined : prefixBytes + this.#lengthOfNext()
      if (end !== undefined && this.#bytes >= end) {
        const joined = this.#joined()
        this.#bytes -= end
        // Copied, because otherwise the first bytes of the next message would keep this one in memory.
        this.#chunks = this.#bytes === 0 ? [] : [inOwnMemory(joined.subarray(end))]
        return joined.subarray(prefixBytes, end)
      }
      const chunk = await this.#body.next()
      if (chunk === undefined) {
        if (this.#bytes > 0) throw invalidField("request", "ends within a message")
        return undefined
      }
      this.#chunks.push(chunk)
      this.#bytes += chunk.length
    }
  }

  /** Returns the message of a request that has exactly one. If it is too large, it is read away before this throws. */
  async only(): Promise<Uint8Array> {
    const message = await this.next().catch(async (error: unknown) => {
      if (error instanceof Failure && error.code === Code.ResourceExhausted) await this.#body.readAway()
      throw error
    })
    if (message === undefined || (await this.next()) !== undefined) {
      throw broken(Code.Unimplemented, "the request must have one message")
    }
    return message
  }

  /** Reads the prefix of the next message. Throws if the message will not be read. */
  #lengthOfNext(): number {
    let first = this.#chunks[0] as Uint8Array
    if (first.length < prefixBytes) {
      first = this.#joined()
      this.#chunks = [first]
    }
    const length = lengthInPrefix(first)
    // A request whose header names a compression is rejected before it is read.
    if (first[0] !== 0) throw broken(Code.Internal, flaggedMessage)
    if (length > this.#maxMessageBytes) {
      const message = `the request has a message of ${length} bytes, the limit is ${this.#maxMessageBytes}`
      throw broken(Code.ResourceExhausted, message)
    }
    return length
  }

  #joined(): Uint8Array {
    return this.#chunks.length === 1 ? (this.#chunks[0] as Uint8Array) : Buffer.concat(this.#chunks)
  }
}

/** Creates the failure of a request that breaks gRPC's own rules. */
function broken(code: Code, message: string): Failure {
  return new Failure("INVALID_FIELD", { code, message })
}
