/** A bounded queue of items to send over a stream. */
export interface Outbox<T> {
  /**
   * @param bytes The approximate size of the item.
   * @param more Whether more items are likely to come soon. Then the item waits for those of the same turn of the event loop.
   */
  put(item: T, bytes: number, more: boolean): void
  /** Makes `take` return soon, with an empty batch if there is no item. */
  interrupt(): void
  /** Closes the queue: no more items will come. */
  close(): void
  /** Ends the queue with an error and drops the waiting items. */
  fail(error: unknown): void
  /** Returns undefined while there is space; otherwise a promise that resolves when there is space again. */
  space(): Promise<void> | undefined
  /** Waits for items, or for `interrupt`, and returns the next batch, in order; undefined at the end. */
  take(): Promise<T[] | undefined>
}

/** The size of a batch, and the size of all waiting items at which no more requests are read, in bytes. */
const batchBytes = 64 * 1024
const waitingBytes = 1024 * 1024
/** The overhead of one item, in bytes. */
const itemBytes = 128

/** Creates a queue that batches items which come at about the same time. */
export function outbox<T>(): Outbox<T> {
  const waiting: { items: T[]; bytes: number }[] = []
  let bytes = 0
  let ended: { error: unknown } | "closed" | undefined
  let isInterrupted = false
  let wakeReader: (() => void) | undefined
  let wakeWriter: (() => void) | undefined

  const wake = () => {
    wakeReader?.()
    wakeReader = undefined
  }

  return {
    put(item, ownBytes, more) {
      const size = ownBytes + itemBytes
      const last = waiting.at(-1)
      if (last !== undefined && last.bytes + size <= batchBytes) {
        last.items.push(item)
        last.bytes += size
      } else waiting.push({ items: [item], bytes: size })
      bytes += size
      if (!more) wake()
      else if (last === undefined && wakeReader !== undefined) setImmediate(wake)
    },
    interrupt() {
      isInterrupted = true
      wake()
    },
    close() {
      ended ??= "closed"
      wake()
    },
    fail(error) {
      ended = { error }
      wake()
      wakeWriter?.()
    },
    space() {
      if (bytes < waitingBytes || ended !== undefined) return undefined
      return new Promise((resolve) => {
        wakeWriter = resolve
      })
    },
    async take() {
      while (waiting.length === 0 && ended === undefined && !isInterrupted) {
        const { promise, resolve } = Promise.withResolvers<void>()
        wakeReader = resolve
        await promise
      }
      if (typeof ended === "object") throw ended.error
      const batch = waiting.shift()
      if (batch === undefined && !isInterrupted) return undefined
      isInterrupted = false
      if (batch === undefined) return []
      bytes -= batch.bytes
      if (bytes < waitingBytes) {
        wakeWriter?.()
        wakeWriter = undefined
      }
      return batch.items
    },
  }
}
