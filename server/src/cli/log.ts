import { type Logger, pino } from "pino"
import pretty from "pino-pretty"

/** The log, on standard error: one JSON object a line, or text for people. Flushed at each line. */
export function createLog(options: { level: string; format: "json" | "text" }): Logger {
  const settings = { level: options.level, base: null, timestamp: pino.stdTimeFunctions.isoTime }
  const destination =
    options.format === "text"
      ? pretty({ destination: 2, sync: true, colorize: process.stderr.isTTY, ignore: "pid,hostname", singleLine: true })
      : pino.destination({ fd: 2, sync: true })
  return pino(settings, destination)
}
