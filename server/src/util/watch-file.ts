import { readFile } from "node:fs/promises"
import { systemCodeOf } from "../errors/system-code.js"

/** Texts or paths by the caller's names for its files; undefined if there is no such file. */
type ByName<Files> = { readonly [Name in keyof Files]: string | undefined }

export interface WatchOptions<Files extends ByName<Files>> {
  /** The path of each file. Files that belong together are read together. */
  paths: Files
  /** The texts of the files that are already in use. */
  texts: Files
  /** Applies the current texts. If it throws, the texts that were applied last stay in use. */
  take: (texts: Files) => void
  /** Called once per problem when files cannot be applied. `file` is the file that cannot be read, if that is why. */
  fail: (error: unknown, file: keyof Files | undefined) => void
  /**
   * The number of consecutive reads that must find the same problem before `fail` is called. Two for files that are
   * replaced one after the other, because they do not match for a moment. Default: 1.
   */
  patience?: number
  /** The time from one read to the next, in milliseconds. Default: 1,000. */
  everyMs?: number
}

/**
 * Reads files periodically, and passes their texts on when they differ, whether a file was overwritten, replaced or
 * reached by another link.
 *
 * Each read is of whole files, because they are small, and neither modification times nor locations prove that they are
 * unchanged. The timer does not keep the process alive.
 */
export function watchFiles<Files extends ByName<Files>>(options: WatchOptions<Files>): { stop(): void } {
  const { paths, take, fail, patience = 1, everyMs = 1_000 } = options
  const names = (Object.keys(paths) as (keyof Files)[]).filter((name) => paths[name] !== undefined)
  let used = JSON.stringify(names.map((name) => options.texts[name]))
  /** The state of the files that causes the problem, and the number of reads that found it. */
  let problem: { state: string; reads: number } | undefined
  let stopped = false
  let timer: NodeJS.Timeout

  const check = async (): Promise<void> => {
    const found = await Promise.all(names.map((name) => read(paths[name] as string)))
    if (stopped) return
    const state = JSON.stringify(found.map((file) => file.text ?? { error: systemCodeOf(file.error) }))
    if (state === used) {
      problem = undefined
      return
    }
    const reads = problem?.state === state ? problem.reads : 0
    // The problem was already reported.
    if (reads === patience) return
    const unreadable = found.findIndex((file) => file.text === undefined)
    try {
      if (unreadable >= 0) throw found[unreadable]?.error
      take({ ...paths, ...Object.fromEntries(names.map((name, index) => [name, found[index]?.text])) })
      used = state
      problem = undefined
    } catch (error) {
      problem = { state, reads: reads + 1 }
      if (problem.reads === patience) fail(error, names[unreadable])
    }
  }
  const checkLater = (): void => {
    timer = setTimeout(() => check().finally(() => stopped || checkLater()), everyMs).unref()
  }
  checkLater()

  return {
    stop() {
      stopped = true
      clearTimeout(timer)
    },
  }
}

function read(path: string): Promise<{ text?: string; error?: unknown }> {
  return readFile(path, "utf8").then(
    (text) => ({ text }),
    (error: unknown) => ({ error }),
  )
}
