import { constants, fstatSync, openSync } from "node:fs"
import { createRequire } from "node:module"
import { type Logger, pino } from "pino"
import type PinoPretty from "pino-pretty"
import { boundedLines } from "./bounded-lines.js"

/**
 * Creates the log, on standard error: one JSON object per line, or text for people. Lines are written whole, so that
 * several processes can share the output. A slow reader never blocks the service: see boundedLines.
 *
 * @param options.worker The number of this worker if there are several. It becomes a field of every line.
 */
export function createLog(options: { level: string; format: "json" | "text"; worker?: number }): Logger {
  const base = options.worker === undefined ? null : { worker: options.worker }
  const lines = boundedLines(standardError(), {
    onLost: (count) => log.error({ lines: count }, "lines of the log are lost: it could not be written"),
  })
  const pretty = options.format === "text" ? prettyLine() : undefined
  const destination = { write: (line: string) => lines.write(pretty === undefined ? line : pretty(line)) }
  const log = pino({ level: options.level, base, timestamp: pino.stdTimeFunctions.isoTime }, destination)
  return log
}

/** Returns a descriptor of standard error to which a write does not block. */
export function standardError(): number {
  if (fstatSync(2).isFile()) return 2
  try {
    return openSync("/dev/stderr", constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY)
  } catch {
    // It is a socket, or belongs to another user. Node's stream has made the descriptor non-blocking, unless it is a
    // terminal.
    return process.stderr.fd
  }
}

/**
 * Returns a function that formats a JSON line as text. The formatter is loaded only when needed, because production
 * does not use it.
 */
function prettyLine() {
  const { prettyFactory }: typeof PinoPretty = createRequire(import.meta.url)("pino-pretty")
  return prettyFactory({ colorize: process.stderr.isTTY, ignore: "pid,hostname", singleLine: true })
}
