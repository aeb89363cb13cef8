import { execFileSync } from "node:child_process"
import { closeSync, constants, openSync, readSync } from "node:fs"
import { join } from "node:path"

/** A named pipe whose reader reads only on request. */
export interface UnreadPipe {
  readonly path: string
  /** The command prefix that starts a program with the pipe as its standard error. */
  readonly prefix: readonly string[]
  /** Reads the available data, and returns everything read so far. */
  read(): string
  /** Closes the reader. The pipe's name stays. */
  close(): void
}

export function unreadPipe(): UnreadPipe {
  const path = join(process.env.AUTHWIRE_TEST_RUN_FOLDER as string, `pipe-${crypto.randomUUID()}`)
  execFileSync("mkfifo", [path])
  const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK)
  const buffer = Buffer.alloc(64 * 1024)
  const chunks: Buffer[] = []
  let isClosed = false
  return {
    path,
    prefix: ["sh", "-c", 'exec "$@" 2>"$0"', path],
    read() {
      try {
        for (;;) chunks.push(Buffer.from(buffer.subarray(0, readSync(fd, buffer))))
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error
      }
      return Buffer.concat(chunks).toString()
    },
    close() {
      if (isClosed) return
      isClosed = true
      closeSync(fd)
    },
  }
}
