import type { Logger } from "pino"
import { watchFiles } from "../util/watch-file.js"

/**
 * Watches a file, and hands its text on when it is another. A text that is rejected (`onText` throws), or a file that
 * cannot be read, changes nothing and is logged, once: what held before holds on.
 *
 * @param options.text what is in use already
 */
export function followFile(options: {
  path: string
  text: string
  /** What it is, for the log. */
  what: string
  log: Logger
  onText: (text: string) => void
}): { stop(): void } {
  const { path, text, what, log, onText } = options
  return watchFiles({
    paths: { path },
    texts: { path: text },
    take(changed) {
      onText(changed.path)
      log.info({ file: path }, `${what}: read again`)
    },
    fail: (error) => log.error({ file: path, problem: problemOf(error) }, `${what}: not taken over, the old ones hold`),
  })
}

/** What is wrong with a file, in a word of the system or in our own. */
function problemOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return "code" in error ? String(error.code) : error.message
}
