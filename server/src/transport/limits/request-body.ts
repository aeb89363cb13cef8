import type { Readable } from "node:stream"
import { Failure } from "../../errors/failure.js"
import { peerTimeout } from "../../util/peer-timeout.js"
import { limits } from "./limits.js"
import type { RequestUsage } from "./request-usage.js"

/** The body of a request, chunk by chunk. Nothing of it is read before the first chunk is asked for. */
export class RequestBody {
  readonly #source: Readable
  readonly #usage: RequestUsage
  readonly #chunks: Uint8Array[] = []
  #isReading = false
  #isDiscarded = false
  /** Continues the reader that waits for a chunk or the end. */
  #wake: (() => void) | undefined

  /** @param source The HTTP/2 stream, or the request of HTTP/1.1. */
  constructor(source: Readable, usage: RequestUsage) {
    this.#source = source
    this.#usage = usage
  }

  /** Returns the next chunk, undefined at the end. Throws CANCELLED if the client has gone before the end. */
  async next(): Promise<Uint8Array | undefined> {
    for (;;) {
      const chunk = this.#chunks.shift()
      if (chunk !== undefined) return chunk
      if (this.#source.readableEnded) return undefined
      if (this.#source.destroyed) throw new Failure("CANCELLED")
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      this.#usage.awaited()
      this.#read()
      await promise
    }
  }

  /** Discards what is still unread, and what arrives later if somebody makes it flow. */
  discard(): void {
    this.#isDiscarded = true
    this.#chunks.length = 0
  }

  /**
   * Reads the rest of a request that is too large and discards it, up to `limits.tooLargeBytes`, and until nothing arrives
   * for `limits.tooLargeIdleMs`. Reads nothing if the method requires no key.
   */
  async readAway(): Promise<void> {
    this.discard()
    const source = this.#source
    if (this.#usage.isOpen || source.readableEnded || source.destroyed) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const stop = () => {
      source.pause()
      resolve()
    }
    const idle = peerTimeout(limits.tooLargeIdleMs, stop)
    let left: number = limits.tooLargeBytes
    source.on("data", (chunk: Buffer) => {
      idle.restart()
      left -= chunk.length
      if (left < 0) stop()
    })
    source.once("end", resolve).once("close", resolve).resume()
    await promise
    idle.clear()
  }

  #read(): void {
    const wake = () => this.#wake?.()
    if (!this.#isReading) {
      this.#source.on("data", (chunk: Buffer) => this.#receive(chunk))
      this.#source.once("end", wake).once("close", wake)
    }
    this.#isReading = true
    this.#source.resume()
  }

  #receive(chunk: Buffer): void {
    if (this.#isDiscarded) return
    this.#usage.received(chunk)
    this.#chunks.push(inOwnMemory(chunk))
    this.#source.pause()
    this.#wake?.()
  }
}

/**
 * Copies a chunk that is a small part of a larger buffer. Node reads up to 64 KiB of a connection at once and returns
 * views of it as frames, so that one retained byte keeps all 64 KiB in memory.
 */
export function inOwnMemory(chunk: Uint8Array): Uint8Array {
  if (2 * chunk.length >= chunk.buffer.byteLength) return chunk
  const copy = Buffer.allocUnsafeSlow(chunk.length)
  copy.set(chunk)
  return copy
}
