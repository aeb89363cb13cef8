// What pino looks for in a destination that wants to know of levels.
const metadata: unique symbol = Symbol.for("pino.metadata") as never

/** Where lines go. */
export interface LineSink {
  /** @param line with its line break. */
  write(line: string): void
}

/** Lines of a log: pino says of each how severe it is. */
export interface LogLines extends LineSink {
  readonly [metadata]: true
  lastLevel: number
}

/** pino's number for `warn`: from there on a line does not wait. */
const warn = 40

// What a pipe takes whole (PIPE_BUF of POSIX), so that processes that share it do not cut each other's lines.
const maxBytes = 4096

/**
 * Writes the lines of one turn of the event loop together, at its end: to write costs far more than to make a line. A
 * warning does not wait, nor what waits when the process exits.
 */
export function batchedLines(sink: LineSink): LogLines {
  let waiting: string[] = []
  let length = 0

  function flush(): void {
    if (waiting.length === 0) return
    const lines = waiting
    waiting = []
    length = 0
    writeWhole(lines)
  }

  // Beyond ASCII a character has more bytes than one.
  function writeWhole(lines: readonly string[]): void {
    const text = lines.join("")
    const middle = lines.length >> 1
    if (middle === 0 || Buffer.byteLength(text) <= maxBytes) sink.write(text)
    else {
      writeWhole(lines.slice(0, middle))
      writeWhole(lines.slice(middle))
    }
  }
  process.on("exit", flush)

  return {
    [metadata]: true,
    lastLevel: 0,
    write(line) {
      if (length + line.length > maxBytes) flush()
      if (waiting.length === 0) setImmediate(flush)
      waiting.push(line)
      length += line.length
      if (this.lastLevel >= warn) flush()
    },
  }
}
