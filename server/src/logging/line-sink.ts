import { constants, fstatSync, openSync, write, writeSync } from "node:fs"

/** A destination for text that never blocks the event loop. */
export interface LineSink {
  /**
   * Writes a text, and calls back when all of it is written, or with an error. After an error the caller passes the
   * same text again. The part that was already written is not repeated.
   */
  write(text: string, done: (error: Error | null | undefined) => void): void
  /**
   * Writes as much of a text as can be written at once, because the process ends. A text whose `write` has failed comes
   * first, and is continued. Returns whether all of it was written; after a text that was not, no other may follow.
   */
  writeNow(text: string): boolean
}

/**
 * Returns the sink for standard error. Node writes to a pipe or a socket without blocking and continues when the reader
 * has read. For a file or a terminal it would block.
 */
export function standardError(): LineSink {
  const about = fstatSync(2)
  if (about.isFile()) return fileSink(2)
  if (process.stderr.isTTY) {
    try {
      return fileSink(openSync("/dev/stderr", constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY))
    } catch {
      // The terminal belongs to another user. Writes to it may block.
    }
  }
  return streamSink(process.stderr)
}

/** @param stream A stream that is not destroyed when a write fails, such as those of the process. */
export function streamSink(stream: NodeJS.WritableStream): LineSink {
  // Each write receives its own error.
  stream.on("error", () => {})
  return {
    write: (text, done) => void stream.write(text, done),
    writeNow(text) {
      stream.write(text)
      return true
    },
  }
}

/** @param fd A descriptor of a file, or one that was opened with O_NONBLOCK. */
export function fileSink(fd: number): LineSink {
  let left = Buffer.alloc(0)
  let hasFailed = false
  return {
    write(text, done) {
      if (left.length === 0) left = Buffer.from(text)
      hasFailed = false
      const writeLeft = () =>
        write(fd, left, (error, written) => {
          if (error === null) left = left.subarray(written)
          hasFailed = error !== null
          if (error !== null || left.length === 0) done(error)
          else writeLeft()
        })
      writeLeft()
    },
    writeNow(text) {
      const rest = hasFailed ? left : Buffer.from(text)
      hasFailed = false
      try {
        return writeSync(fd, rest) === rest.length
      } catch {
        // The process ends, so the error cannot be reported.
        return false
      }
    },
  }
}
