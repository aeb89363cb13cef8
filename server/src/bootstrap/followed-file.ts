import { readFileSync } from "node:fs"
import type { Logger } from "pino"
import { InvalidValueError } from "../errors/invalid-value-error.js"
import { StartError } from "../errors/start-error.js"
import { systemCodeOf } from "../errors/system-code.js"
import { watchFiles } from "../util/watch-file.js"

/** Reads a file that an option names. Throws StartError if the file cannot be read or `parse` rejects its text. */
export function readGiven<T>(flag: string, path: string, parse: (text: string) => T): T {
  try {
    return parse(readFileSync(path, "utf8"))
  } catch (error) {
    if (error instanceof InvalidValueError) throw new StartError(`${flag}: ${error.message}`)
    throw new StartError(`${flag}: cannot read ${path} (${systemCodeOf(error)})`, { cause: error })
  }
}

export interface FollowedFile<T> {
  flag: string
  path: string
  /** The description of the file, for the log. */
  what: string
  log: Logger
  /** Parses the text. Throws InvalidValueError. */
  parse: (text: string) => T
  /** Called with the contents at once, and whenever they have changed. */
  onContents: (contents: T) => void
}

/**
 * Reads a file as `readGiven` does, and again whenever it has changed. If the changed file cannot be read or parsed,
 * the previous contents stay in effect, and the problem is logged.
 */
export function followFile<T>({ flag, path, what, log, parse, onContents }: FollowedFile<T>): { stop(): void } {
  let used = ""
  const contents = readGiven(flag, path, (text) => {
    used = text
    return parse(text)
  })
  onContents(contents)
  return watchFiles({
    paths: [path],
    read: () => readFileSync(path, "utf8"),
    used,
    take(text) {
      onContents(parse(text))
      log.info({ file: path }, `${what}: loaded again`)
    },
    fail: (error) =>
      log.error(
        { file: path, problem: problemOf(error) },
        `${what}: cannot be used; the previous contents stay in effect`,
      ),
  })
}

/** Returns the problem with a file: the error code of the system, or the message of our own error. */
function problemOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return "code" in error ? String(error.code) : error.message
}
