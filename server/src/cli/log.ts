import { type Logger, pino } from "pino"
import { prettyFactory } from "pino-pretty"
import { boundedLines } from "./bounded-lines.js"
import { standardError } from "./line-sink.js"

/**
 * The log, on standard error: one JSON object a line, or text for people. Lines are whole, so that several
 * processes can share the output. Nobody waits for whoever reads it: see BoundedLines.
 *
 * @param options.worker the number of this worker, where there are several: a field of every line
 */
export function createLog(options: { level: string; format: "json" | "text"; worker?: number }): Logger {
  const base = options.worker === undefined ? null : { worker: options.worker }
  const lines = boundedLines(standardError(), {
    onLost: (count) => log.error({ lines: count }, "lines of the log are lost: it could not be written"),
  })
  const log = pino({ level: options.level, base, timestamp }, options.format === "text" ? textOf(lines) : lines)
  return log
}

function textOf({ write }: { write: (line: string) => void }) {
  const text = prettyFactory({ colorize: process.stderr.isTTY, ignore: "pid,hostname", singleLine: true })
  return { write: (line: string) => write(text(line)) }
}

let time = 0
let text = ""

// As pino's isoTime, made once for all lines of a millisecond.
function timestamp(): string {
  const now = Date.now()
  if (now !== time) {
    time = now
    text = `,"time":"${new Date(now).toISOString()}"`
  }
  return text
}
