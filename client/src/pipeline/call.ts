import { create, type DescMessage, type DescMethodUnary, fromBinary, type MessageInitShape } from "@bufbuild/protobuf"
import { Code, ConnectError, type Transport, type UnaryResponse } from "@connectrpc/connect"
import { cancelled, serialize } from "../transport/grpc-wire.js"
import { withHeader } from "../transport/traced.js"

/** Whoever has a call in hand: a queue or a stream. */
export interface Holder {
  /** The call is over, whatever becomes of it there. */
  drop(call: PipelinedCall): void
}

export interface PipelinedCallOptions {
  method: DescMethodUnary
  input: MessageInitShape<DescMessage>
  /** What the call has beside the header of the stream. */
  header: Record<string, string>
  /** The header with that of the stream. */
  wholeHeader: HeadersInit | undefined
  /** As everywhere in Connect, zero or less means none. */
  timeoutMs: number | undefined
  signal: AbortSignal | undefined
}

/**
 * Stands for a call wherever calls are kept that come and go; empty once it is over. V8 makes the table of a Set or a Map
 * anew after some deletions, the old one points to the new, and what was in them stays until the next large collection:
 * these, and not the calls with all that they have.
 */
export interface Slot {
  call: PipelinedCall | undefined
}

/** A call of a unary method, from when it is made to when its caller has the outcome. */
export class PipelinedCall {
  /** The full name of the method. */
  readonly method: string
  readonly message: Uint8Array
  /** What the call has beside the header of the stream. */
  readonly header: Record<string, string>
  /** How large message and header are, in bytes. */
  readonly size: number
  /** What the caller gets. */
  readonly response: Promise<UnaryResponse>
  /** Names the call in the stream that carries it. */
  id = 0
  holder: Holder | undefined
  readonly slot: Slot = { call: this }

  readonly #options: PipelinedCallOptions
  readonly #end: number | undefined
  readonly #onAbort: (() => void) | undefined
  readonly #timer: NodeJS.Timeout | undefined
  readonly #resolve: (response: UnaryResponse) => void
  readonly #reject: (error: unknown) => void

  /** @throws ConnectError with INVALID_ARGUMENT if the message breaks the schema. */
  constructor(options: PipelinedCallOptions) {
    const { method, timeoutMs, signal } = options
    this.#options = options
    this.method = `${method.parent.typeName}/${method.name}`
    this.message = serialize(method, create(method.input, options.input))
    this.header = options.header
    let size = this.message.length
    // Names and values are ASCII; each pair has a frame.
    for (const name in options.header) size += name.length + (options.header[name]?.length ?? 0) + 10
    this.size = size
    const { promise, resolve, reject } = Promise.withResolvers<UnaryResponse>()
    this.response = promise
    this.#resolve = resolve
    this.#reject = reject
    if (timeoutMs !== undefined && timeoutMs > 0) {
      this.#end = performance.now() + timeoutMs
      this.#timer = setTimeout(() => this.#expire(timeoutMs), Math.min(timeoutMs, 0x7fffffff))
    }
    if (signal !== undefined) {
      this.#onAbort = () => this.fail(cancelled(signal))
      signal.addEventListener("abort", this.#onAbort)
    }
  }

  /** How long the caller still waits, in milliseconds; undefined if for ever. */
  get timeoutMs(): number | undefined {
    if (this.#end === undefined) return undefined
    return Math.min(Math.max(1, Math.ceil(this.#end - performance.now())), 0xffffffff)
  }

  /** Ends the call with the bytes of an answer. */
  answer(bytes: Uint8Array): void {
    this.#over()
    const { method } = this.#options
    try {
      this.#resolve(new PipelinedResponse(method, fromBinary(method.output, bytes)))
    } catch {
      this.#reject(new ConnectError(`the answer is not a well-formed ${method.output.typeName}`, Code.Internal))
    }
  }

  fail(error: ConnectError): void {
    this.#over()
    this.#reject(error)
  }

  /** Lets another transport make the call, with the time that is left. */
  makeBy(transport: Transport): void {
    const { method, input, wholeHeader, signal } = this.#options
    const { timeoutMs } = this
    this.#over()
    transport
      .unary(method, signal, timeoutMs, withHeader(wholeHeader, this.header), input)
      .then(this.#resolve, this.#reject)
  }

  #expire(timeoutMs: number): void {
    this.fail(new ConnectError(`the deadline of ${Math.round(timeoutMs)} ms has passed`, Code.DeadlineExceeded))
  }

  #over(): void {
    if (this.slot.call === undefined) return
    clearTimeout(this.#timer)
    if (this.#onAbort !== undefined) this.#options.signal?.removeEventListener("abort", this.#onAbort)
    this.holder?.drop(this)
    this.holder = undefined
    this.slot.call = undefined
  }
}

/** Headers are made only when somebody reads them: hardly anyone does. */
class PipelinedResponse implements UnaryResponse {
  readonly stream = false
  readonly method: DescMethodUnary
  readonly message: UnaryResponse["message"]

  constructor(method: DescMethodUnary, message: UnaryResponse["message"]) {
    this.method = method
    this.message = message
  }

  get service() {
    return this.method.parent
  }

  get header() {
    return new Headers()
  }

  get trailer() {
    return new Headers()
  }
}
