import type { DescMessage } from "@bufbuild/protobuf"
import type { FieldViolation } from "../../errors/failure.js"
import { lengthInPrefix, prefixBytes } from "../listener/prefix.js"
import { jsonFaults } from "./json-faults.js"

/** What has arrived of a request in JSON since its last message was read, in the chunks that Connect holds too. */
export class UnparsedJson {
  readonly #hasPrefixes: boolean
  #chunks: Uint8Array[] = []

  /** @param hasPrefixes Whether each message has a prefix, as in all protocols but unary Connect. */
  constructor(hasPrefixes: boolean) {
    this.#hasPrefixes = hasPrefixes
  }

  received(chunk: Uint8Array): void {
    this.#chunks.push(chunk)
  }

  /** Records that the next message was read. */
  read(): void {
    const { rest } = this.#next()
    this.#chunks = rest.length === 0 ? [] : [rest]
  }

  /** Returns what cannot be read in the next message. */
  faults(message: DescMessage): FieldViolation[] {
    return jsonFaults(message, new TextDecoder().decode(this.#next().message))
  }

  #next(): { message: Uint8Array; rest: Uint8Array } {
    const [first = Buffer.of()] = this.#chunks
    const bytes = this.#chunks.length > 1 ? Buffer.concat(this.#chunks) : first
    if (!this.#hasPrefixes || bytes.length < prefixBytes) return { message: bytes, rest: Buffer.of() }
    const end = prefixBytes + lengthInPrefix(bytes)
    return { message: bytes.subarray(prefixBytes, end), rest: bytes.subarray(end) }
  }
}
