import { readFile } from "node:fs/promises"
import type { Logger } from "pino"

/** How often a file is read, in milliseconds. */
const everyMs = 1_000

/**
 * Reads a file again and again, and hands its text on when it is another. A text that is refused (`onText` throws), or a
 * file that cannot be read, changes nothing and is logged, once: what held before holds on.
 *
 * The whole file is read each time: it is small, and neither its time nor its place says for sure that it is the same.
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
  const { path, what, log, onText } = options
  let known = options.text
  let complained = false
  let stopped = false
  let timer: NodeJS.Timeout

  const look = async (): Promise<void> => {
    try {
      const text = await readFile(path, "utf8")
      if (!stopped && text !== known) {
        known = text
        onText(text)
        log.info({ file: path }, `${what}: read again`)
      }
      complained = false
    } catch (error) {
      if (!complained)
        log.error({ file: path, problem: problemOf(error) }, `${what}: not taken over, the old ones hold`)
      complained = true
    }
    if (!stopped) wait()
  }
  const wait = () => {
    timer = setTimeout(look, everyMs)
    timer.unref()
  }
  wait()
  return {
    stop() {
      stopped = true
      clearTimeout(timer)
    },
  }
}

/** What is wrong with a file, in a word of the system or in our own. */
function problemOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return "code" in error ? String(error.code) : error.message
}
