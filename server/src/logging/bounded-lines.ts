import type { LineSink } from "./line-sink.js"

/** Lines on their way to a sink that may stand still. */
export interface BoundedLines {
  /**
   * @param line with its line break. It is lost if too much waits already.
   * @param isUrgent whether it does not wait for the end of the turn. Default: false.
   */
  write(line: string, isUrgent?: boolean): void
  /** The same for a line that is not to be lost: who writes it sees to it that there are not too many. */
  keep(line: string): void
  /** Whether the sink fails, or half of what may wait does. */
  readonly isBlocked: boolean
}

export interface BoundedLinesOptions {
  /** Called when there is space again, where lines were lost. What it writes stands where they would. */
  onLost: (count: number) => void
  /** Called when the sink begins to fail, and with undefined when it takes lines again. */
  onFailure?: (error: Error | undefined) => void
}

/** How much may wait, in bytes. */
export const maxWaitingBytes = 1024 * 1024

// What a pipe takes whole (PIPE_BUF of POSIX), so that processes that share it do not cut each other's lines.
const maxChunkBytes = 4096

/** When a write is tried again: into what is full, and after a failure. */
const fullRetryMs = 50
const failureRetryMs = 1_000

interface Chunk {
  text: string
  bytes: number
}

/**
 * Writes lines in their order, and those of one turn of the event loop together, at its end: to write costs far more than
 * to make a line. While the sink stands still up to 1 MiB waits; further lines are lost, and counted, until half of that
 * is free. What waits when the process exits is written as far as the sink takes it at once.
 */
export function boundedLines(sink: LineSink, { onLost, onFailure }: BoundedLinesOptions): BoundedLines {
  /** The first is being written if `isWriting`. */
  const waiting: Chunk[] = []
  let bytes = 0
  let lost = 0
  let isWriting = false
  let isScheduled = false
  let isFailing = false

  const fail = (error: Error | undefined): void => {
    if (isFailing === (error !== undefined)) return
    isFailing = error !== undefined
    onFailure?.(error)
  }

  const writeNext = (): void => {
    const chunk = waiting[0]
    isWriting = chunk !== undefined
    if (chunk === undefined) return
    sink.write(chunk.text, (error) => {
      if (error) {
        const isFull = "code" in error && error.code === "EAGAIN"
        if (!isFull) fail(error)
        setTimeout(writeNext, isFull ? fullRetryMs : failureRetryMs).unref()
        return
      }
      waiting.shift()
      bytes -= chunk.bytes
      fail(undefined)
      if (lost > 0 && bytes <= maxWaitingBytes / 2) {
        const count = lost
        lost = 0
        onLost(count)
      }
      writeNext()
    })
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

  process.on("exit", () => {
    for (const { text } of isWriting ? waiting.slice(1) : waiting) sink.writeNow(text)
  })

  return {
    write(line, isUrgent) {
      const size = Buffer.byteLength(line)
      if (lost > 0 || bytes + size > maxWaitingBytes) lost++
      else push(line, size, isUrgent)
    },
    keep: (line) => push(line, Buffer.byteLength(line)),
    get isBlocked() {
      return isFailing || bytes > maxWaitingBytes / 2
    },
  }
}
