import { create, type DescMessage, type DescMethodUnary, type MessageInitShape } from "@bufbuild/protobuf"
import { Code, ConnectError, type UnaryResponse } from "@connectrpc/connect"
import { afterReading } from "../transport/after-reading.js"
import { unaryResponse } from "../transport/grpc-wire.js"
import type { Unary } from "../transport/layer.js"
import { cancelled, parse, serialize } from "../transport/message.js"

/** The queue or stream that a call is in. */
export interface CallOwner {
  /** Removes a call that is over. */
  drop(call: PipelinedCall): void
}

export interface PipelinedCallOptions {
  method: DescMethodUnary
  input: MessageInitShape<DescMessage>
  /** The headers of the call that the stream does not have. */
  header: Record<string, string>
  /** In milliseconds. As everywhere in Connect, zero or less means none. */
  timeoutMs: number | undefined
  signal: AbortSignal | undefined
}

/**
 * Holds a call in the queues and maps that change with every call, and is emptied when the call is over. V8 replaces the table of a Set or
 * Map after some deletions, and removed entries may stay in memory until the next major garbage collection. So only the empty slots
 * stay, and not the calls.
 */
export interface Slot {
  call: PipelinedCall | undefined
}

/** A call of a unary method, from its start to its outcome. */
export class PipelinedCall {
  /** The full name of the method. */
  readonly method: string
  readonly message: Uint8Array
  /** The headers of the call that the stream does not have. */
  readonly header: Record<string, string>
  /** The size of message and headers, in bytes. */
  readonly size: number
  /** The outcome for the caller. */
  readonly response: Promise<UnaryResponse>
  /** The id of the call in its stream. */
  id = 0
  owner: CallOwner | undefined
  readonly slot: Slot = { call: this }

  readonly #options: PipelinedCallOptions
  readonly #end: number | undefined
  readonly #onAbort: (() => void) | undefined
  readonly #timer: NodeJS.Timeout | undefined
  #resolve!: (response: UnaryResponse) => void
  #reject!: (error: unknown) => void

  /** @throws ConnectError with INVALID_ARGUMENT if the message breaks the schema. */
  constructor(options: PipelinedCallOptions) {
    const { method, timeoutMs, signal } = options
    this.#options = options
    this.method = `${method.parent.typeName}/${method.name}`
    this.message = serialize(method.input, create(method.input, options.input))
    this.header = options.header
    let size = this.message.length
    // Names and values are ASCII. Each pair has an overhead of about 10 bytes.
    for (const name in options.header) size += name.length + (options.header[name]?.length ?? 0) + 10
    this.size = size
    // Not Promise.withResolvers, the only thing here that Node 20 does not have.
    this.response = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    if (timeoutMs !== undefined && timeoutMs > 0) {
      this.#end = performance.now() + timeoutMs
      this.#timer = afterReading(Math.min(timeoutMs, 0x7fffffff), () => this.#expire(timeoutMs))
    }
    if (signal !== undefined) {
      this.#onAbort = () => this.fail(cancelled(signal))
      signal.addEventListener("abort", this.#onAbort)
    }
  }

  /** The time that is left until the deadline, in milliseconds; undefined without a deadline. */
  get timeoutMs(): number | undefined {
    if (this.#end === undefined) return undefined
    return Math.min(Math.max(1, Math.ceil(this.#end - performance.now())), 0xffffffff)
  }

  /** Ends the call with the bytes of an answer. */
  answer(bytes: Uint8Array): void {
    this.#over()
    const { method } = this.#options
    try {
      this.#resolve(unaryResponse(method, parse(method.output, bytes)))
    } catch (error) {
      this.#reject(error)
    }
  }

  fail(error: ConnectError): void {
    this.#over()
    this.#reject(error)
  }

  /** Makes the call in another way, with the time that is left. */
  makeBy(unary: Unary): void {
    const { method, input, header, signal } = this.#options
    const { timeoutMs } = this
    this.#over()
    unary(method, signal, timeoutMs, header, input).then(this.#resolve, this.#reject)
  }

  #expire(timeoutMs: number): void {
    this.fail(new ConnectError(`the deadline of ${Math.round(timeoutMs)} ms has passed`, Code.DeadlineExceeded))
  }

  #over(): void {
    if (this.slot.call === undefined) return
    clearTimeout(this.#timer)
    if (this.#onAbort !== undefined) this.#options.signal?.removeEventListener("abort", this.#onAbort)
    this.owner?.drop(this)
    this.owner = undefined
    this.slot.call = undefined
  }
}
