import { statSync, unwatchFile, watchFile } from "node:fs"
import { isDeepStrictEqual } from "node:util"

export interface WatchOptions<Contents> {
  paths: readonly string[]
  /** Reads the contents of all files. */
  read: () => Contents
  /** The contents that are already in use. */
  used: Contents
  /** Applies changed contents. If it throws, the contents that were applied last stay in use. */
  take: (contents: Contents) => void
  /** Called when changed files cannot be read or applied. */
  fail: (error: unknown) => void
  /** How often the files are examined, in milliseconds. Default: 1,000. */
  everyMs?: number
}

/**
 * Watches files with `fs.watchFile`, and passes their contents on when they differ, whether a file was overwritten,
 * replaced or reached by another link.
 *
 * Files that cannot be read or applied are tried once more after `everyMs` before `fail` is called: a file may be
 * written in part, and files that are replaced one after the other do not match for a moment. Nothing keeps the process
 * alive. If one is a pipe, which can be read only once, none is watched.
 */
export function watchFiles<Contents>(options: WatchOptions<Contents>): { stop(): void } {
  const { paths, read, take, fail, everyMs = 1_000 } = options
  let { used } = options
  if (paths.some(isPipe)) return { stop() {} }
  let timer: NodeJS.Timeout

  const check = (isRetry: boolean): void => {
    clearTimeout(timer)
    try {
      const contents = read()
      if (isDeepStrictEqual(contents, used)) return
      take(contents)
      used = contents
    } catch (error) {
      if (isRetry) fail(error)
      else timer = setTimeout(check, everyMs, true).unref()
    }
  }
  const onChange = () => check(false)
  for (const path of paths) watchFile(path, { interval: everyMs, persistent: false }, onChange)
  // `watchFile` does not report a change that precedes its first examination.
  timer = setTimeout(check, everyMs, false).unref()

  return {
    stop() {
      clearTimeout(timer)
      for (const path of paths) unwatchFile(path, onChange)
    },
  }
}

function isPipe(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFIFO() === true
}
