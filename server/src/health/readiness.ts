import type { Logger } from "pino"
import { StoreError } from "../errors/store-error.js"
import type { Store } from "../store/store.js"

/** The readiness of the service to do its work. */
export interface Readiness {
  readonly ready: boolean
  /** What is wrong although the service may be ready, for `GET /readyz`. */
  readonly detail: string | undefined
  /** Resolves when `until` is true after a change, at once if it is true already, or when the signal aborts. */
  changed(signal: AbortSignal, until: () => boolean): Promise<void>
}

/** A readiness that is set explicitly. Not ready at first. */
export interface ReadinessSwitch extends Readiness {
  detail: string | undefined
  set(ready: boolean): void
  /** Makes the service not ready, permanently. */
  stop(): void
}

export function readinessSwitch(): ReadinessSwitch {
  const waiting = new Set<() => void>()
  let ready = false
  let stopped = false
  const set = (value: boolean): void => {
    if (ready === value || stopped) return
    ready = value
    for (const wake of [...waiting]) wake()
  }
  return {
    get ready() {
      return ready
    },
    detail: undefined,
    changed: (signal, until) =>
      new Promise((resolve) => {
        const wake = () => {
          if (!signal.aborted && !until()) return
          waiting.delete(wake)
          signal.removeEventListener("abort", wake)
          resolve()
        }
        waiting.add(wake)
        signal.addEventListener("abort", wake)
        wake()
      }),
    set,
    stop() {
      set(false)
      stopped = true
    },
  }
}

// The number of consecutive failed pings that are tolerated. A load peak must not remove every replica from the load
// balancer at once.
const tolerated = 1

/** How far this process's clock may be ahead of the database's or behind it without a warning, in milliseconds. */
const maxOffsetMs = 1000

/**
 * Pings the store every `intervalMs` (default: 1000; a ping may take as long, but never less than 1000). Reports to
 * `onChange` whether the database answers and accepts writes, which ends when two consecutive pings fail. The first
 * ping is awaited, and reported if it succeeded. Each problem is logged once.
 *
 * After each ping it reports to `onClock` how far this process's clock is ahead of the database's, in milliseconds, and
 * the problem if that is more than a second. The problem lasts until the offset is at most half a second.
 */
export async function monitorDatabase(deps: {
  store: Store
  log: Logger
  onChange: (answers: boolean) => void
  onClock: (offsetMs: number, problem: string | undefined) => void
  intervalMs?: number
}): Promise<{ stop(): void }> {
  const { store, log, onChange, onClock, intervalMs = 1000 } = deps
  let answers: boolean | undefined
  let misses = 0
  /** The problem that was logged last; undefined once the database answers again. */
  let logged: string | undefined
  let isOff = false
  let stopped = false
  let timer: NodeJS.Timeout | undefined

  const checkClock = (): void => {
    const offsetMs = store.clockOffsetMs()
    const wasOff = isOff
    isOff = Math.abs(offsetMs) > (wasOff ? maxOffsetMs / 2 : maxOffsetMs)
    const seconds = `${Math.abs(offsetMs) / 1000} seconds ${offsetMs > 0 ? "ahead of" : "behind"} the database's`
    if (isOff && !wasOff) {
      log.warn(
        { offset_ms: offsetMs },
        `the clock of this process is ${seconds}: the database's decides what has ended`,
      )
    } else if (wasOff && !isOff)
      log.info({ offset_ms: offsetMs }, "the clock of this process agrees with the database's again")
    onClock(offsetMs, isOff ? `the clock is ${seconds}` : undefined)
  }

  const set = (value: boolean): void => {
    if (answers === value) return
    answers = value
    onChange(value)
  }

  const probe = async (): Promise<void> => {
    let problem: unknown
    try {
      await store.ping({ signal: AbortSignal.timeout(Math.max(intervalMs, 1000)) })
    } catch (error) {
      problem = error
    }
    if (stopped) return
    checkClock()
    misses = problem === undefined ? 0 : misses + 1
    if (misses > tolerated) {
      const why = problem instanceof StoreError ? problem.message : "the database does not answer"
      if (why !== logged) log.error({ err: problem }, `${why}: not ready`)
      logged = why
      set(false)
    } else if (misses === 0) {
      if (!answers) log.info("the database answers and accepts writes")
      logged = undefined
      set(true)
    }
    timer = setTimeout(probe, intervalMs)
    timer.unref()
  }
  await probe()

  return {
    stop() {
      stopped = true
      clearTimeout(timer)
    },
  }
}
