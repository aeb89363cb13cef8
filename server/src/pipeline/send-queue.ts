import type { Budget } from "../util/budget.js"

/** The size of a batch, and the size of all waiting items at which no more requests are read, in bytes. */
const batchBytes = 64 * 1024
const waitingBytes = 1024 * 1024
/** The overhead of one item, in bytes: about the memory of its objects. */
const itemBytes = 384

/** A bounded queue of items to send over a stream. It batches items which come at about the same time. */
export class SendQueue<T> {
  readonly #memory: Budget | undefined
  readonly #waiting: { items: T[]; bytes: number }[] = []
  #bytes = 0
  /** The size of the batch that was taken last. */
  #sendingBytes = 0
  #ended: { error: unknown } | "closed" | undefined
  #isInterrupted = false
  #wakeReader: (() => void) | undefined
  #wakeWriter: (() => void) | undefined

  /** @param memory The budget in which items count until the batch after theirs is taken. Default: none. */
  constructor(memory?: Budget) {
    this.#memory = memory
  }

  /**
   * Returns false, and drops the item, if there is no memory for it. After the end every item is dropped.
   *
   * @param ownBytes The approximate size of the item.
   * @param more Whether more items are likely to come soon. Then the item waits for those of the same turn of the event loop.
   */
  put(item: T, ownBytes: number, more: boolean): boolean {
    if (this.#ended !== undefined) return true
    const size = ownBytes + itemBytes
    if (this.#memory?.take(size) === false) return false
    const last = this.#waiting.at(-1)
    if (last !== undefined && last.bytes + size <= batchBytes) {
      last.items.push(item)
      last.bytes += size
    } else this.#waiting.push({ items: [item], bytes: size })
    this.#bytes += size
    if (!more) this.#wake()
    else if (last === undefined && this.#wakeReader !== undefined) setImmediate(this.#wake)
    return true
  }

  /** Makes `take` return soon, with an empty batch if there is no item. */
  interrupt(): void {
    this.#isInterrupted = true
    this.#wake()
  }

  /** Closes the queue: no more items will come. */
  close(): void {
    this.#ended ??= "closed"
    this.#wake()
  }

  /** Ends the queue with an error and drops the waiting items. */
  fail(error: unknown): void {
    this.#ended = { error }
    this.#memory?.give(this.#bytes)
    this.#bytes = 0
    this.#waiting.length = 0
    this.#wake()
    this.#wakeWriter?.()
  }

  /** Records that the reader takes no more: the batch that it took last was sent. */
  over(): void {
    this.fail(undefined)
    this.#sent()
  }

  /** Returns undefined while there is space; otherwise a promise that resolves when there is space again. */
  space(): Promise<void> | undefined {
    if (this.#bytes < waitingBytes || this.#ended !== undefined) return undefined
    return new Promise((resolve) => {
      this.#wakeWriter = resolve
    })
  }

  /** Waits for items, or for `interrupt`, and returns the next batch, in order; undefined at the end. The batch before was sent. */
  async take(): Promise<T[] | undefined> {
    this.#sent()
    while (this.#waiting.length === 0 && this.#ended === undefined && !this.#isInterrupted) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wakeReader = resolve
      await promise
    }
    if (typeof this.#ended === "object") throw this.#ended.error
    const batch = this.#waiting.shift()
    if (batch === undefined && !this.#isInterrupted) return undefined
    this.#isInterrupted = false
    if (batch === undefined) return []
    this.#bytes -= batch.bytes
    this.#sendingBytes = batch.bytes
    if (this.#bytes < waitingBytes) {
      this.#wakeWriter?.()
      this.#wakeWriter = undefined
    }
    return batch.items
  }

  #sent(): void {
    this.#memory?.give(this.#sendingBytes)
    this.#sendingBytes = 0
  }

  readonly #wake = (): void => {
    this.#wakeReader?.()
    this.#wakeReader = undefined
  }
}
