/** Where lines go. */
export interface LineSink {
  /** @param line with its line break. */
  write(line: string): void
}

// What a pipe takes whole (PIPE_BUF of POSIX), so that processes that share it do not cut each other's lines.
const maxBytes = 4096

/**
 * Writes the lines of one turn of the event loop together, at its end: to write costs far more than to make a line. What
 * waits when the process exits is written first.
 */
export function batchedLines(sink: LineSink): LineSink {
  let waiting = ""
  let bytes = 0

  function flush(): void {
    if (waiting === "") return
    const text = waiting
    waiting = ""
    bytes = 0
    sink.write(text)
  }
  process.on("exit", flush)

  return {
    write(line) {
      const length = Buffer.byteLength(line)
      if (bytes + length > maxBytes) flush()
      if (waiting === "") setImmediate(flush)
      waiting += line
      bytes += length
    },
  }
}
