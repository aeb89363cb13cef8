import type { ServerHttp2Stream } from "node:http2"
import { type Status, StatusSchema } from "@authwire/proto/rpc/status"
import { create } from "@bufbuild/protobuf"
import { Code } from "@connectrpc/connect"
import { Failure } from "../../errors/failure.js"
import { inOwnMemory } from "../limits/own-memory.js"
import type { RequestUsage } from "../limits/request-usage.js"

/** The length of the prefix of a message in bytes: a flag, and a length of four bytes. */
const prefixBytes = 5

/** The messages of a gRPC request. No byte of it is read before the first message is asked for. */
export class RequestMessages {
  /** The status that the client gets if the request breaks gRPC's own rules, in place of that of the failure. */
  fault: Status | undefined
  readonly #stream: ServerHttp2Stream
  readonly #maxMessageBytes: number
  readonly #usage: RequestUsage
  /** What was received and belongs to no whole message yet. */
  #chunks: Uint8Array[] = []
  #bytes = 0
  readonly #whole: Uint8Array[] = []
  #isReading = false
  #hasEnded = false
  #failure: Failure | undefined
  /** Continues the reader that waits for a message or the end. */
  #wake: (() => void) | undefined

  constructor(stream: ServerHttp2Stream, maxMessageBytes: number, usage: RequestUsage) {
    this.#stream = stream
    this.#maxMessageBytes = maxMessageBytes
    this.#usage = usage
  }

  /** Returns the next message, undefined at the end. Nothing further is read until it is called again. */
  async next(): Promise<Uint8Array | undefined> {
    while (this.#whole.length === 0 && !this.#hasEnded && this.#failure === undefined) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      this.#read()
      await promise
    }
    const message = this.#whole.shift()
    if (message !== undefined) return message
    if (this.#failure !== undefined) throw this.#failure
    if (this.#bytes > 0) throw unreadable("ends within a message")
    return undefined
  }

  /** Returns the message of a request that has exactly one. */
  async only(): Promise<Uint8Array> {
    const message = await this.next()
    if (message === undefined || (await this.next()) !== undefined) {
      throw this.#broken(Code.Unimplemented, "the request must have one message")
    }
    return message
  }

  #read(): void {
    const stream = this.#stream
    if (this.#isReading) {
      stream.resume()
      return
    }
    this.#isReading = true
    if (stream.readableEnded) this.#end()
    else if (stream.destroyed) this.#fail(new Failure("CANCELLED"))
    else {
      stream.on("data", (chunk: Buffer) => this.#receive(chunk))
      stream.once("end", () => this.#end())
      stream.once("close", () => this.#fail(new Failure("CANCELLED")))
    }
  }

  #end(): void {
    this.#hasEnded = true
    this.#wake?.()
  }

  #fail(failure: Failure): void {
    if (!this.#hasEnded) this.#failure ??= failure
    this.#wake?.()
  }

  #broken(code: Code, message: string): Failure {
    this.fault = create(StatusSchema, { code, message })
    return unreadable("cannot be read")
  }

  #receive(chunk: Buffer): void {
    this.#usage.received(chunk)
    if (this.#failure !== undefined) return
    this.#chunks.push(inOwnMemory(chunk))
    this.#bytes += chunk.length
    while (this.#bytes >= prefixBytes) {
      const length = this.#lengthOfNext()
      if (length === undefined) return
      if (this.#bytes < prefixBytes + length) break
      const joined = this.#joined()
      this.#whole.push(joined.subarray(prefixBytes, prefixBytes + length))
      this.#bytes -= prefixBytes + length
      this.#chunks = this.#bytes === 0 ? [] : [joined.subarray(prefixBytes + length)]
    }
    if (this.#whole.length === 0) return
    this.#stream.pause()
    this.#wake?.()
  }

  /** Reads the prefix of the next message. Undefined if the request has failed because of it. */
  #lengthOfNext(): number | undefined {
    let first = this.#chunks[0] as Uint8Array
    if (first.length < prefixBytes) {
      first = this.#joined()
      this.#chunks = [first]
    }
    const length = new DataView(first.buffer, first.byteOffset, prefixBytes).getUint32(1)
    if (first[0] !== 0)
      this.#fail(
        this.#broken(Code.Unimplemented, "the request has a compressed message, and compression is not supported"),
      )
    else if (length > this.#maxMessageBytes) {
      const message = `the request has a message of ${length} bytes, the limit is ${this.#maxMessageBytes}`
      this.#fail(this.#broken(Code.ResourceExhausted, message))
    } else return length
    this.#chunks = []
    return undefined
  }

  #joined(): Uint8Array {
    return this.#chunks.length === 1 ? (this.#chunks[0] as Uint8Array) : Buffer.concat(this.#chunks)
  }
}

function unreadable(description: string): Failure {
  return new Failure("INVALID_FIELD", { violations: [{ field: "request", description }] })
}
