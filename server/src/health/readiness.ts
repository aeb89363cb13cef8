import type { Logger } from "pino"
import { StoreError } from "../errors/store-error.js"
import type { Store } from "../store/store.js"

/** The readiness of the service to do its work. */
export interface Readiness {
  readonly ready: boolean
  /** Resolves when `until` is true after a change, at once if it is true already, or when the signal aborts. */
  changed(signal: AbortSignal, until: () => boolean): Promise<void>
}

/** A readiness that is set explicitly. Not ready at first. */
export interface ReadinessSwitch extends Readiness {
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

/**
 * Pings the store every `intervalMs` (default: 1000; a ping may take as long, but never less than 1000). Reports to
 * `onChange` whether the database answers and accepts writes, which ends when two consecutive pings fail. The first
 * ping is awaited, and reported if it succeeded. Each problem is logged once.
 */
export async function monitorDatabase(deps: {
  store: Store
  log: Logger
  onChange: (answers: boolean) => void
  intervalMs?: number
}): Promise<{ stop(): void }> {
  const { store, log, onChange, intervalMs = 1000 } = deps
  let answers: boolean | undefined
  let misses = 0
  /** The problem that was logged last; undefined once the database answers again. */
  let logged: string | undefined
  let stopped = false
  let timer: NodeJS.Timeout | undefined

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
