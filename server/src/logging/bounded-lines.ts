import { fstatSync, write, writeSync } from "node:fs"

/** A buffer of lines for a destination that may not be read. */
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
  /** Whether the destination fails, or the buffer is more than half full. */
  readonly isBlocked: boolean
}

export interface BoundedLinesOptions {
  /** Called with the number of lost lines when there is space again. What it writes takes their place. */
  onLost: (count: number) => void
  /** Called with the error when the destination starts to fail, and with undefined when it accepts lines again. */
  onFailure?: (error: Error | undefined) => void
}

/** The size of the buffer, in bytes. */
export const maxWaitingBytes = 1024 * 1024

// The largest atomic write to a pipe (PIPE_BUF of POSIX). Processes that share a pipe therefore do not split each
// other's lines.
const maxChunkBytes = 4096

/** The time until a write is tried again, in milliseconds: first and at most if a pipe is full, and after a failure. */
const fullRetryMs = 2
const maxFullRetryMs = 50
const failureRetryMs = 1_000

/**
 * Writes lines in order. The lines of one turn of the event loop are written together at its end, because writing costs
 * far more than formatting a line. While the destination blocks, up to 1 MiB is buffered. Further lines are lost and
 * counted until half of the buffer is free. When the process exits, the buffer is written as far as the destination
 * accepts it at once.
 *
 * The destinations of pino are not used: sonic-boom waits 100 ms whenever a pipe is full, in which a busy service
 * produces more lines than fit, and its `flushSync` never returns if the disk is full or the reader is gone.
 *
 * @param fd A descriptor of a file, or one that was opened with O_NONBLOCK.
 */
export function boundedLines(fd: number, { onLost, onFailure }: BoundedLinesOptions): BoundedLines {
  const isFile = fstatSync(fd).isFile()
  const chunks: { text: string; bytes: number }[] = []
  /** The rest of the chunk that is being written. */
  let rest: Buffer = Buffer.alloc(0)
  /** The number of bytes that are not written yet. */
  let bytes = 0
  let lost = 0
  let retryMs = fullRetryMs
  let isFailing = false
  /** Whether a write has not ended, or is to be tried again. */
  let isBusy = false
  let scheduled: NodeJS.Immediate | undefined
  let isInFlight = false

  const writeNext = (): void => {
    clearImmediate(scheduled)
    scheduled = undefined
    if (rest.length === 0) rest = Buffer.from(chunks.shift()?.text ?? "")
    isBusy = rest.length > 0
    if (!isBusy) return
    let written: number
    if (isFile) {
      isInFlight = true
      write(fd, rest, onAnswer)
      return
    }
    // A pipe takes it at once or is full. A thread for each write would cost more than the write.
    try {
      written = writeSync(fd, rest)
    } catch (error) {
      retry(error as NodeJS.ErrnoException)
      return
    }
    onWritten(written)
  }

  const onAnswer = (error: NodeJS.ErrnoException | null, written: number): void => {
    isInFlight = false
    if (error === null) onWritten(written)
    else retry(error)
  }

  const onWritten = (written: number): void => {
    rest = rest.subarray(written)
    bytes -= written
    retryMs = fullRetryMs
    if (isFailing) setFailing(undefined)
    if (lost > 0 && bytes <= maxWaitingBytes / 2) reportLost()
    writeNext()
  }

  const retry = (error: NodeJS.ErrnoException): void => {
    if (error.code === "EAGAIN") {
      retryMs = Math.min(2 * retryMs, maxFullRetryMs)
      setTimeout(writeNext, retryMs)
    } else {
      if (!isFailing) setFailing(error)
      setTimeout(writeNext, failureRetryMs).unref()
    }
  }

  const setFailing = (error: Error | undefined): void => {
    isFailing = error !== undefined
    onFailure?.(error)
  }

  const reportLost = (): void => {
    const count = lost
    lost = 0
    onLost(count)
  }

  const push = (text: string, size: number, isUrgent = false): void => {
    const last = chunks.at(-1)
    if (last !== undefined && last.bytes + size <= maxChunkBytes) {
      last.text += text
      last.bytes += size
    } else chunks.push({ text, bytes: size })
    bytes += size
    if (isBusy) return
    if (isUrgent) writeNext()
    else scheduled ??= setImmediate(writeNext)
  }

  process.on("exit", () => {
    // After a text that was written in part, no other may follow.
    const texts = [...(isInFlight ? [] : [rest]), ...chunks.map(({ text }) => Buffer.from(text))]
    try {
      for (const text of texts) if (writeSync(fd, text) < text.length) return
    } catch {
      // The process ends, so the error cannot be reported.
    }
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
      if (bytes === 0) reportLost()
    },
    keep: (line) => push(line, Buffer.byteLength(line)),
    get isBlocked() {
      return isFailing || bytes > maxWaitingBytes / 2
    },
  }
}
