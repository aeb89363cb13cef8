import type { Connection } from "../connection.js"
import { limits } from "../limits.js"
import { Envelopes } from "./envelopes.js"

export interface ShareOptions {
  connection: Connection
  /** Whether the method needs no key. */
  isOpen: boolean
  /** How long the request may be open, in milliseconds; undefined for a stream, which may be open for hours. */
  lifetimeMs: number | undefined
  /** Ends the request at once. */
  cut: () => void
}

/**
 * What one request and its answer take of the budgets of their connection, in bytes and in time, until `end`. A stream is
 * held to account for the one message that is not whole yet, and for the time that one message takes, either way.
 */
export class Share {
  readonly #connection: Connection
  readonly #isOpen: boolean
  /** Ends the request at once. */
  readonly cut: () => void
  readonly #envelopes: Envelopes | undefined
  /** What came of the request, or of the message of a stream that is not whole: bytes, and in how many chunks. */
  #bytes = 0
  #chunks = 0
  /** What of the budget is taken for it. */
  #requestBytes = 0
  #answerBytes = 0
  #isOver = false
  /** For all of the request, or for the message of a stream that is not whole. */
  #arriving: NodeJS.Timeout | undefined
  /** For what was sent over a stream and is not taken. */
  #leaving: NodeJS.Timeout | undefined
  #sent = 0

  constructor({ connection, isOpen, lifetimeMs, cut }: ShareOptions) {
    this.#connection = connection
    this.#isOpen = isOpen
    this.cut = cut
    if (lifetimeMs === undefined) this.#envelopes = new Envelopes()
    else this.#arriving = setTimeout(cut, lifetimeMs)
  }

  /** Bytes of the request have come. */
  received(chunk: Uint8Array): void {
    // What came before may be read after.
    if (this.#isOver) return
    const { requests } = this.#connection
    const envelopes = this.#envelopes
    this.#chunks++
    if (envelopes === undefined) this.#bytes += chunk.length
    else this.#readMessages(envelopes, chunk)
    const held = this.#bytes + this.#chunks * limits.chunkBytes
    // The messages of a stream that came whole: most do.
    if (held === 0 && this.#requestBytes === 0) return
    const length = envelopes === undefined ? this.#bytes : envelopes.length
    requests.give(this.#requestBytes)
    this.#requestBytes = 0
    if ((this.#isOpen && length > limits.openRequestBytes) || !requests.take(held)) this.cut()
    else this.#requestBytes = held
  }

  #readMessages(envelopes: Envelopes, chunk: Uint8Array): void {
    const { whole } = envelopes
    envelopes.read(chunk)
    this.#bytes = envelopes.partialBytes
    if (this.#bytes === 0) this.#chunks = 0
    else if (envelopes.whole > whole) this.#chunks = 1
    if (this.#bytes === 0 || envelopes.whole > whole) {
      clearTimeout(this.#arriving)
      this.#arriving = undefined
    }
    if (this.#bytes > 0) this.#arriving ??= setTimeout(this.cut, limits.messageMs)
  }

  /** Whether a message of a stream has begun that is not whole. */
  get isPartial(): boolean {
    return this.#envelopes !== undefined && this.#envelopes.partialBytes > 0
  }

  /** Takes bytes for the answer of a unary call; false if too many wait on the connection already. */
  answers(bytes: number): boolean {
    if (!this.#connection.answers.take(bytes)) return false
    this.#answerBytes += bytes
    return true
  }

  /** A message of a stream was sent. */
  sent(): void {
    this.#sent++
    this.#leaving ??= setTimeout(this.cut, limits.messageMs)
  }

  /** The client has taken a message, of those that were sent the first. */
  taken(): void {
    this.#sent--
    if (this.#sent > 0) this.#leaving?.refresh()
    else {
      clearTimeout(this.#leaving)
      this.#leaving = undefined
    }
  }

  /** Gives all of it back. */
  end(): void {
    this.#isOver = true
    clearTimeout(this.#arriving)
    clearTimeout(this.#leaving)
    this.#connection.requests.give(this.#requestBytes)
    this.#connection.answers.give(this.#answerBytes)
    this.#requestBytes = this.#answerBytes = 0
  }
}
