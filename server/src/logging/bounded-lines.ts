import { exitFlushMs } from "./exit-after-pending-lines.js"
import type { LineSink } from "./line-sink.js"

/** A buffer of lines for a sink that may block. */
export interface BoundedLines {
  /**
   * Writes a line.
   *
   * @param line The line, including its line break. It is lost if the buffer is full.
   * @param isUrgent Whether the line is written before the end of the turn of the event loop. Default: false.
   */
  write(line: string, isUrgent?: boolean): void
  /** Writes a line that must not be lost. The caller must limit the number of such lines. */
  keep(line: string): void
  /** Whether the sink fails, or the buffer is more than half full. */
  readonly isBlocked: boolean
}

export interface BoundedLinesOptions {
  /**
   * Called with the number of lost lines when there is space again. Lines that it writes take the place of the lost
   * ones.
   */
  onLost: (count: number) => void
  /** Called with the error when the sink starts to fail, and with undefined when it accepts lines again. */
  onFailure?: (error: Error | undefined) => void
}

/** The size of the buffer, in bytes. */
export const maxWaitingBytes = 1024 * 1024

// The largest atomic write to a pipe (PIPE_BUF of POSIX). Processes that share a pipe therefore do not split each
// other's lines.
const maxChunkBytes = 4096

/** The time until a write is retried, in milliseconds: if the sink is full, and after a failure. */
const fullRetryMs = 50
const failureRetryMs = 1_000

interface Chunk {
  text: string
  bytes: number
}

/**
 * Writes lines in order. The lines of one turn of the event loop are written together at its end, because writing costs
 * far more than formatting a line. While the sink blocks, up to 1 MiB is buffered. Further lines are lost and counted
 * until half of the buffer is free. When the process exits, the buffer is written as far as the sink accepts it at
 * once.
 */
export function boundedLines(sink: LineSink, { onLost, onFailure }: BoundedLinesOptions): BoundedLines {
  /** The buffered chunks. The first is being written, or waits to be tried again, if `isWriting`. */
  const waiting: Chunk[] = []
  let bytes = 0
  let lost = 0
  let isWriting = false
  /** Whether the sink has not answered the last write yet. */
  let isInFlight = false
  let isScheduled = false
  let isFailing = false

  /** Keeps a process that has nothing else to do for a while, so that the last lines can be tried again. */
  let exitTimer: NodeJS.Timeout | undefined

  const setFailing = (error: Error | undefined): void => {
    isFailing = error !== undefined
    onFailure?.(error)
  }

  const writeNext = (): void => {
    const chunk = waiting[0]
    isWriting = chunk !== undefined
    if (chunk === undefined) return
    isInFlight = true
    sink.write(chunk.text, (error) => {
      isInFlight = false
      if (error) {
        const isFull = "code" in error && error.code === "EAGAIN"
        if (!isFull && !isFailing) setFailing(error)
        setTimeout(writeNext, isFull ? fullRetryMs : failureRetryMs).unref()
        return
      }
      waiting.shift()
      bytes -= chunk.bytes
      if (isFailing) setFailing(undefined)
      if (lost > 0 && bytes <= maxWaitingBytes / 2) reportLost()
      if (waiting.length === 0) clearTimeout(exitTimer)
      writeNext()
    })
  }

  const reportLost = (): void => {
    const count = lost
    lost = 0
    onLost(count)
  }

  const writeWaiting = (): void => {
    isScheduled = false
    if (!isWriting) writeNext()
  }

  const push = (text: string, size: number, isUrgent = false): void => {
    const last = waiting.at(-1)
    const isOpen = last !== undefined && !(isWriting && waiting.length === 1)
    if (isOpen && last.bytes + size <= maxChunkBytes) {
      last.text += text
      last.bytes += size
    } else waiting.push({ text, bytes: size })
    bytes += size
    if (isWriting) return
    if (isUrgent) writeNext()
    else if (!isScheduled) {
      isScheduled = true
      setImmediate(writeWaiting)
    }
  }

  // The timers of the next tries do not keep the process alive, because the sink may never take anything again.
  process.once("beforeExit", () => {
    if (waiting.length > 0) exitTimer = setTimeout(() => {}, exitFlushMs)
  })
  process.on("exit", () => {
    for (const { text } of isInFlight ? waiting.slice(1) : waiting) if (!sink.writeNow(text)) return
  })

  return {
    write(line, isUrgent) {
      const size = Buffer.byteLength(line)
      if (lost === 0 && bytes + size <= maxWaitingBytes) {
        push(line, size, isUrgent)
        return
      }
      lost++
      // Otherwise a line that is larger than the buffer would be reported by nobody.
      if (waiting.length === 0) reportLost()
    },
    keep: (line) => push(line, Buffer.byteLength(line)),
    get isBlocked() {
      return isFailing || bytes > maxWaitingBytes / 2
    },
  }
}
