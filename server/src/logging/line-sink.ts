import { constants, fstatSync, openSync, write, writeSync } from "node:fs"

/** Where text goes, without keeping anybody waiting. */
export interface LineSink {
  /**
   * Writes a text, and calls back when all of it is written, or with an error. After an error the same text comes again;
   * what was written of it is not repeated.
   */
  write(text: string, done: (error: Error | null | undefined) => void): void
  /** Writes as much of a text as can be written at once, because the process ends. */
  writeNow(text: string): void
}

/**
 * Standard error. Node writes to a pipe or a socket as far as the reader has read, and to the rest when it has; for a file
 * or a terminal it would wait.
 */
export function standardError(): LineSink {
  const about = fstatSync(2)
  if (about.isFile()) return fileSink(2)
  if (process.stderr.isTTY) {
    try {
      return fileSink(openSync("/dev/stderr", constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY))
    } catch {
      // The terminal belongs to somebody else. Then it is waited for.
    }
  }
  return streamSink(process.stderr)
}

/** @param stream which does not end when a write fails, as those of the process do not. */
export function streamSink(stream: NodeJS.WritableStream): LineSink {
  // Each write is told of its own error.
  stream.on("error", () => {})
  return {
    write: (text, done) => void stream.write(text, done),
    writeNow: (text) => void stream.write(text),
  }
}

/** @param fd of a file, or open with O_NONBLOCK. */
export function fileSink(fd: number): LineSink {
  let left = Buffer.alloc(0)
  return {
    write(text, done) {
      if (left.length === 0) left = Buffer.from(text)
      const writeLeft = () =>
        write(fd, left, (error, written) => {
          if (error === null) left = left.subarray(written)
          if (error !== null || left.length === 0) done(error)
          else writeLeft()
        })
      writeLeft()
    },
    writeNow(text) {
      try {
        writeSync(fd, text)
      } catch {
        // There is nobody left to tell.
      }
    },
  }
}
