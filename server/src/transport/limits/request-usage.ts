import type { EventEmitter } from "node:events"
import type { Failure } from "../../errors/failure.js"
import type { Method } from "../../rpc/router.js"
import { type PeerTimeout, peerTimeout } from "../../util/peer-timeout.js"
import type { Connection } from "./connection.js"
import { limits } from "./limits.js"
import type { OpenMethods } from "./open-methods.js"

/**
 * The bytes and the time that one request and its answer use of their connection's budgets, until `end`. A stream is
 * charged for what arrives until its method reads a message. Each of its messages has a time limit in either direction.
 */
export class RequestUsage {
  readonly #connection: Connection
  /** Whether the method requires no key. */
  readonly isOpen: boolean
  readonly #isStream: boolean
  /** Aborts the request at once. */
  readonly cut: () => void
  /** What was received of the request, or of a stream since its method has read a message: bytes, and the number of chunks. */
  #bytes = 0
  #chunks = 0
  /** The bytes that are taken from the budget for it. */
  #requestBytes = 0
  /** The bytes of the answer, or of a stream's messages that the client has not received. */
  #answerBytes = 0
  #isOver = false
  /** The timeout for the whole request, or for a stream's incomplete message. */
  #arriving: PeerTimeout | undefined
  /** The timeout for messages that were sent over a stream and not yet received by the client. */
  #leaving: PeerTimeout | undefined
  #sent = 0

  /** @param lifetimeMs The longest time that the request may be open, in milliseconds. Undefined for a stream. */
  constructor(connection: Connection, isOpen: boolean, lifetimeMs: number | undefined, cut: () => void) {
    this.#connection = connection
    this.isOpen = isOpen
    this.#isStream = lifetimeMs === undefined
    this.cut = cut
    if (lifetimeMs !== undefined) this.#arriving = peerTimeout(lifetimeMs, cut)
  }

  /** Counts received bytes of the request. Aborts the request if it exceeds a limit. */
  received(chunk: Uint8Array): void {
    this.#hold(chunk.length, 1)
  }

  /** Counts the header of a unary call that may have a large one. Aborts the request if it exceeds a limit. */
  receivedHeader(bytes: number): void {
    this.#hold(bytes, 0)
  }

  #hold(bytes: number, chunks: number): void {
    // Bytes that arrived before the end may be read after it.
    if (this.#isOver) return
    const { requests } = this.#connection
    this.#chunks += chunks
    this.#bytes += bytes
    const overhead = this.#chunks * limits.chunkBytes
    const held = this.#bytes + overhead
    requests.give(this.#requestBytes)
    this.#requestBytes = 0
    // The largest request fits even if each of its packets is a chunk.
    const isTooLarge = this.isOpen && Math.max(this.#bytes, overhead) > limits.openRequestBytes
    if (isTooLarge || !requests.take(held)) this.cut()
    else this.#requestBytes = held
  }

  /** Records that more of the request is needed. A message of a stream that has begun must then be complete in time. */
  awaited(): void {
    if (!this.#isOver && this.#isStream && this.#bytes > 0) this.#arriving ??= peerTimeout(limits.messageMs, this.cut)
  }

  /** Records that the method of a stream has read a message. The rest of the chunk in which it ended is not counted. */
  read(): void {
    if (this.#isOver) return
    this.#connection.requests.give(this.#requestBytes)
    this.#requestBytes = this.#bytes = this.#chunks = 0
    this.#arriving?.clear()
    this.#arriving = undefined
  }

  /**
   * Takes bytes of the budget for the answer of a unary call. False if too many are already queued on the connection.
   * Takes nothing for a request that has ended, because its answer is discarded.
   */
  answers(bytes: number): boolean {
    if (this.#isOver) return true
    if (!this.#connection.answers.take(bytes)) return false
    this.#answerBytes += bytes
    return true
  }

  /**
   * Records that the error of a call was sent that is rejected before its request is read. It counts even if that exceeds the budget,
   * because the messages of streams may already do so, and each stream has one such error.
   */
  rejected(bytes: number): void {
    if (this.#isOver) return
    this.#connection.answers.count(bytes)
    this.#answerBytes += bytes
  }

  /** Records that a message of a stream was sent. It counts even if that exceeds the budget: each stream sends one at a time. */
  sent(bytes: number): void {
    if (this.#isOver) return
    this.#sent++
    this.#connection.answers.count(bytes)
    this.#answerBytes += bytes
    this.#leaving ??= peerTimeout(limits.messageMs, this.cut)
  }

  /** Records that the client has received the oldest sent message. */
  taken(bytes: number): void {
    if (this.#isOver) return
    this.#sent--
    this.#connection.answers.give(bytes)
    this.#answerBytes -= bytes
    if (this.#sent > 0) this.#leaving?.restart()
    else {
      this.#leaving?.clear()
      this.#leaving = undefined
    }
  }

  /** Returns everything to the budgets. */
  end(): void {
    this.#isOver = true
    this.#arriving?.clear()
    this.#leaving?.clear()
    this.#connection.requests.give(this.#requestBytes)
    this.#connection.answers.give(this.#answerBytes)
    this.#requestBytes = this.#answerBytes = 0
  }
}

/**
 * Creates the usage of a request, and the rejection of the call if it exceeds the limits of methods that require no
 * key.
 *
 * @param request.closing The HTTP/2 stream or the HTTP/1.1 response. The usage ends when it closes.
 * @param request.cut Aborts the request at once.
 * @param options.maxDeadlineMs The longest duration of a unary call, in milliseconds.
 */
export function usageOf(
  { connection, closing, cut }: { connection: Connection; closing: EventEmitter; cut: () => void },
  { method, openMethods, maxDeadlineMs }: { method: Method; openMethods: OpenMethods; maxDeadlineMs: number },
): { usage: RequestUsage; rejection: Failure | undefined } {
  const { isOpen, desc } = method
  const lifetimeMs = desc.methodKind === "unary" ? maxDeadlineMs + limits.closeMs : undefined
  const usage = new RequestUsage(connection, isOpen, lifetimeMs, cut)
  const stream = { cut }
  closing.once("close", () => {
    usage.end()
    if (isOpen) openMethods.leave(desc, connection, stream)
  })
  return { usage, rejection: isOpen ? openMethods.enter(desc, connection, stream) : undefined }
}
