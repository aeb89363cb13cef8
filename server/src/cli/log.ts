import { type Logger, pino } from "pino"
import pretty from "pino-pretty"
import { batchedLines } from "./batched-lines.js"

/**
 * The log, on standard error: one JSON object a line, or text for people. Lines are whole, so that several
 * processes can share the output.
 *
 * @param options.worker the number of this worker, where there are several: a field of every line
 */
export function createLog(options: { level: string; format: "json" | "text"; worker?: number }): Logger {
  const base = options.worker === undefined ? null : { worker: options.worker }
  const settings = { level: options.level, base, timestamp }
  const destination =
    options.format === "text"
      ? pretty({ destination: 2, sync: true, colorize: process.stderr.isTTY, ignore: "pid,hostname", singleLine: true })
      : batchedLines(pino.destination({ fd: 2, sync: true }))
  return pino(settings, destination)
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
