import type { Logger } from "pino"
import type { Store } from "./store/store.js"

/** Whether the service can do its work. */
export interface Readiness {
  readonly ready: boolean
  /** Resolves once `until` holds after a change, at once if it holds already, or when the signal aborts. */
  changed(signal: AbortSignal, until: () => boolean): Promise<void>
}

/** Follows the database and the shutdown. */
export interface ReadinessMonitor extends Readiness {
  /** From now on, and for good, not ready. */
  stop(): void
}

/**
 * Asks the store for a sign of life every `intervalMs` (default 1000, of which a ping may take as long), and is ready
 * while it gets one. The first answer is awaited.
 */
export async function monitorReadiness(deps: {
  store: Store
  log: Logger
  intervalMs?: number
}): Promise<ReadinessMonitor> {
  const { store, log, intervalMs = 1000 } = deps
  const waiting = new Set<() => void>()
  let ready = false
  let stopped = false
  let timer: NodeJS.Timeout | undefined

  const set = (value: boolean): void => {
    if (ready === value) return
    ready = value
    for (const wake of [...waiting]) wake()
  }

  const probe = async (): Promise<void> => {
    let problem: unknown
    try {
      await store.ping({ signal: AbortSignal.timeout(Math.max(intervalMs, 1000)) })
    } catch (error) {
      problem = error
    }
    if (stopped) return
    if (problem !== undefined && ready) log.error({ err: problem }, "the database does not answer: not ready")
    if (problem === undefined && !ready) log.info("the database answers: ready")
    set(problem === undefined)
    timer = setTimeout(probe, intervalMs)
    timer.unref()
  }
  await probe()

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
    stop() {
      stopped = true
      clearTimeout(timer)
      set(false)
    },
  }
}
