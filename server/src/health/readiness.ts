import type { Logger } from "pino"
import { StoreError } from "../store/error.js"
import type { Store } from "../store/store.js"

/** Whether the service can do its work. */
export interface Readiness {
  readonly ready: boolean
  /** Resolves once `until` holds after a change, at once if it holds already, or when the signal aborts. */
  changed(signal: AbortSignal, until: () => boolean): Promise<void>
}

/** Readiness that follows what it is told. Not ready at first. */
export interface ReadinessSwitch extends Readiness {
  set(ready: boolean): void
  /** From now on, and for good, not ready. */
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

// A busy moment must not take every replica out of its balancer at once.
const tolerated = 1

/**
 * Pings the store every `intervalMs` (default 1000, and a ping may take as long), and tells `onChange` whether the database
 * answers and takes writes: no more when two pings in a row fail. The first is awaited, and told if it succeeded. The log
 * says once why not.
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
  /** What the log has said of it, until it is well again. */
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
      if (!answers) log.info("the database answers and takes writes: ready")
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
