/** What waits to be sent over a stream. */
export interface Outbox<T> {
  /**
   * @param bytes about how large it is.
   * @param more whether more is likely to come soon: then what the same turn of the event loop brings is sent with it.
   */
  put(item: T, bytes: number, more: boolean): void
  /** No more will come. */
  close(): void
  /** Ends the outbox with an error, whatever waits. */
  fail(error: unknown): void
  /** Undefined where little enough waits; else resolves when that is so. */
  space(): Promise<void> | undefined
  /** What waits, in order and at the most about a batch of it; undefined at the end. */
  take(): Promise<T[] | undefined>
}

/** What one message holds at the most, and what may wait before more is read, in bytes. */
const batchBytes = 64 * 1024
const waitingBytes = 1024 * 1024
/** What an item takes beside its own bytes, however small it is. */
const itemBytes = 128

/** Collects what comes at about the same time, so that it can travel together. */
export function outbox<T>(): Outbox<T> {
  const waiting: { items: T[]; bytes: number }[] = []
  let bytes = 0
  let ended: { error: unknown } | "closed" | undefined
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
      while (waiting.length === 0 && ended === undefined) {
        const { promise, resolve } = Promise.withResolvers<void>()
        wakeReader = resolve
        await promise
      }
      if (typeof ended === "object") throw ended.error
      const batch = waiting.shift()
      if (batch === undefined) return undefined
      bytes -= batch.bytes
      if (bytes < waitingBytes) {
        wakeWriter?.()
        wakeWriter = undefined
      }
      return batch.items
    },
  }
}
