import { constants, fstatSync, openSync } from "node:fs"
import { createRequire } from "node:module"
import { type Logger, type LoggerOptions, pino } from "pino"
import type PinoPretty from "pino-pretty"
import { refusalOfStore } from "../errors/refusal.js"
import { printable, printableLines } from "../util/printable.js"
import { boundedLines } from "./bounded-lines.js"

// The property by which pino recognizes a destination that needs the level of each line.
const metadata: unique symbol = Symbol.for("pino.metadata") as never

/** pino's number for `warn`. Lines from this level on are written at once. */
const warn = 40

/**
 * Creates the log, on standard error: one JSON object per line, or text for people. Lines are written whole, so that
 * several processes can share the output. A slow reader never blocks the service: see boundedLines. The message of a line with an
 * error of the database ends with what that means and what to do. No text of a caller controls the terminal.
 */
export function createLog({
  logLevel: level,
  logFormat: format,
}: {
  logLevel: string
  logFormat: "json" | "text"
}): Logger {
  const lines = boundedLines(standardError(), {
    onLost: (count) => log.error({ lines: count }, "lines of the log are lost: it could not be written"),
  })
  const written = format === "text" ? prettyLine() : (line: string) => printableLines(line)
  const destination = {
    [metadata]: true,
    lastLevel: 0,
    write: (line: string) => lines.write(written(line), destination.lastLevel >= warn),
  }
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, hooks }
  const log = pino(options, destination)
  return log
}

const hooks: NonNullable<LoggerOptions["hooks"]> = {
  logMethod(given, method) {
    const [facts, message = "failed"] = given as unknown as [{ err?: unknown } | string, string?]
    const refusal = typeof facts === "object" ? refusalOfStore(facts.err) : undefined
    if (refusal === undefined || message.endsWith(refusal)) method.apply(this, given)
    else method.call(this, facts as never, `${message}: ${refusal}` as never)
  },
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

/** Returns a function that formats a JSON line as text. Loaded only when needed: production does not use it. */
function prettyLine(): (line: string) => string {
  const { prettyFactory }: typeof PinoPretty = createRequire(import.meta.url)("pino-pretty")
  const pretty = prettyFactory({
    colorize: process.stderr.isTTY,
    ignore: "pid,hostname",
    singleLine: true,
    messageFormat: (log, key) => printable(String(log[key] ?? "")),
  })
  // What begins with ESC here is a color: pino-pretty escapes or removes ESC in facts and in stacks of errors.
  return (line) => printableLines(pretty(line), "\n\u001b")
}
