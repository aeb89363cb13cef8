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
  /** Resolves while little enough waits. */
  space(): Promise<void>
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
  let waiting: { item: T; bytes: number }[] = []
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
      waiting.push({ item, bytes: size })
      bytes += size
      if (!more) wake()
      else if (waiting.length === 1 && wakeReader !== undefined) setImmediate(wake)
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
    async space() {
      if (bytes < waitingBytes || ended !== undefined) return
      await new Promise<void>((resolve) => {
        wakeWriter = resolve
      })
    },
    async take() {
      while (waiting.length === 0 && ended === undefined)
        await new Promise<void>((resolve) => {
          wakeReader = resolve
        })
      if (typeof ended === "object") throw ended.error
      if (waiting.length === 0) return undefined
      let count = 0
      let taken = 0
      while (count < waiting.length && (count === 0 || taken + (waiting[count]?.bytes ?? 0) <= batchBytes)) {
        taken += waiting[count]?.bytes ?? 0
        count++
      }
      const batch = waiting.slice(0, count).map(({ item }) => item)
      waiting = waiting.slice(count)
      bytes -= taken
      if (bytes < waitingBytes) {
        wakeWriter?.()
        wakeWriter = undefined
      }
      return batch
    },
  }
}
