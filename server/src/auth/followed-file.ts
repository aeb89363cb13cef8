import { readFileSync } from "node:fs"
import type { Logger } from "pino"
import { watchFiles } from "../util/watch-file.js"

/**
 * Watches a file, and calls `onText` when its text has changed. If `onText` throws or the file cannot be read, the
 * previous text stays in effect, and the problem is logged once.
 *
 * @param options.text the text that is already in use
 */
export function followFile(options: {
  path: string
  text: string
  /** The description of the file, for the log. */
  what: string
  log: Logger
  onText: (text: string) => void
}): { stop(): void } {
  const { path, text, what, log, onText } = options
  return watchFiles({
    paths: [path],
    read: () => readFileSync(path, "utf8"),
    used: text,
    take(changed) {
      onText(changed)
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
