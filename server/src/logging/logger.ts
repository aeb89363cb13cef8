import { createRequire } from "node:module"
import { type Logger, pino } from "pino"
import type PinoPretty from "pino-pretty"
import { boundedLines } from "./bounded-lines.js"
import { standardError } from "./line-sink.js"

// What pino looks for in a destination that wants to know of levels.
const metadata: unique symbol = Symbol.for("pino.metadata") as never

/** pino's number for `warn`: from there on a line does not wait. */
const warn = 40

/**
 * The log, on standard error: one JSON object a line, or text for people. Lines are whole, so that several
 * processes can share the output. Nobody waits for whoever reads it: see boundedLines. Not by pino's own destination: beside a
 * pipe that nobody reads its process never ends, and of 30,000 lines a second it loses 7 of 100 where somebody does.
 *
 * @param options.worker the number of this worker, where there are several: a field of every line
 */
export function createLog(options: { level: string; format: "json" | "text"; worker?: number }): Logger {
  const base = options.worker === undefined ? null : { worker: options.worker }
  const lines = boundedLines(standardError(), {
    onLost: (count) => log.error({ lines: count }, "lines of the log are lost: it could not be written"),
  })
  const pretty = options.format === "text" ? prettyLine() : undefined
  const destination = {
    [metadata]: true,
    lastLevel: 0,
    write: (line: string) => lines.write(pretty === undefined ? line : pretty(line), destination.lastLevel >= warn),
  }
  const log = pino({ level: options.level, base, timestamp }, destination)
  return log
}

/** Makes text of a line of JSON. Loaded when it is wanted, which in production it is not. */
function prettyLine() {
  const { prettyFactory }: typeof PinoPretty = createRequire(import.meta.url)("pino-pretty")
  return prettyFactory({ colorize: process.stderr.isTTY, ignore: "pid,hostname", singleLine: true })
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
