import { readFile } from "node:fs/promises"

/** Texts or paths by the names that the caller gives to its files; undefined where there is no such file. */
type ByName<Files> = { readonly [Name in keyof Files]: string | undefined }

export interface WatchOptions<Files extends ByName<Files>> {
  /** The path of each file. Files that belong together are read together. */
  paths: Files
  /** What they hold that is in use already. */
  texts: Files
  /** Takes over what they hold now. When it throws, what was taken over last stays in use. */
  take: (texts: Files) => void
  /** Hears why files are not taken over: of each problem once. `file` is the one that cannot be read, if that is why. */
  fail: (error: unknown, file: keyof Files | undefined) => void
  /**
   * How many looks in a row must find the same problem before `fail` hears of it. Two, where files that are replaced one
   * after the other do not fit together for a moment. Default: 1.
   */
  patience?: number
  /** The time from one look to the next, in milliseconds. Default: 1,000. */
  everyMs?: number
}

/**
 * Reads files again and again, and hands on what they hold when it is different, be they written over, replaced or reached
 * by another link.
 *
 * The whole files are read each time: they are small, and neither their times nor their places say for sure that they are
 * the same. It does not keep the process alive.
 */
export function watchFiles<Files extends ByName<Files>>(options: WatchOptions<Files>): { stop(): void } {
  const { paths, take, fail, patience = 1, everyMs = 1_000 } = options
  const names = (Object.keys(paths) as (keyof Files)[]).filter((name) => paths[name] !== undefined)
  let used = JSON.stringify(names.map((name) => options.texts[name]))
  /** What is wrong with the files, and how many looks have found it. */
  let problem: { state: string; looks: number } | undefined
  let stopped = false
  let timer: NodeJS.Timeout

  const look = async (): Promise<void> => {
    const found = await Promise.all(names.map((name) => read(paths[name] as string)))
    if (stopped) return
    const state = JSON.stringify(found.map((file) => file.text ?? { error: codeOf(file.error) }))
    if (state === used) {
      problem = undefined
      return
    }
    const looks = problem?.state === state ? problem.looks : 0
    // Nothing new since it was told.
    if (looks === patience) return
    const unreadable = found.findIndex((file) => file.text === undefined)
    try {
      if (unreadable >= 0) throw found[unreadable]?.error
      take({ ...paths, ...Object.fromEntries(names.map((name, index) => [name, found[index]?.text])) })
      used = state
      problem = undefined
    } catch (error) {
      problem = { state, looks: looks + 1 }
      if (problem.looks === patience) fail(error, names[unreadable])
    }
  }
  const lookLater = (): void => {
    timer = setTimeout(() => look().finally(() => stopped || lookLater()), everyMs).unref()
  }
  lookLater()

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

/** The system's word for an error, such as ENOENT. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "unknown"
}
