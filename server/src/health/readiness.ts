import type { Logger } from "pino"
import { refusalOf } from "../errors/refusal.js"
import { StoreError } from "../errors/store-error.js"
import type { Store } from "../store/store.js"
import { peerSignal } from "../util/peer-timeout.js"

/** The readiness of the service to do its work. */
export interface Readiness {
  readonly ready: boolean
  /** What is wrong, a line each, for `GET /readyz`. The service may be ready nevertheless. */
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
 * ping is awaited, and reported if it succeeded. Each problem is logged once, with the message of the database.
 *
 * After each ping it reports to `onClock` how far this process's clock is ahead of the database's, in milliseconds. More
 * than a second is a problem, until the offset is at most half a second.
 *
 * Then it reports to `onDetail` what is wrong, a line each: without messages of the database, which may name its users,
 * hosts and files.
 */
export async function monitorDatabase(deps: {
  store: Store
  log: Logger
  onChange: (answers: boolean) => void
  onClock: (offsetMs: number) => void
  onDetail: (detail: string | undefined) => void
  intervalMs?: number
}): Promise<{ stop(): void }> {
  const { store, log, onChange, onClock, onDetail, intervalMs = 1000 } = deps
  let answers: boolean | undefined
  let misses = 0
  /** Why the service is not ready. */
  let why: string | undefined
  let isOff = false
  let stopped = false
  let timer: NodeJS.Timeout | undefined

  /** Returns the problem of the clock. */
  const checkClock = (): string | undefined => {
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
    onClock(offsetMs)
    return isOff ? `the clock is ${seconds}` : undefined
  }

  const set = (value: boolean): void => {
    if (answers === value) return
    answers = value
    onChange(value)
  }

  const probe = async (): Promise<void> => {
    let problem: unknown
    try {
      await store.ping({ signal: peerSignal(Math.max(intervalMs, 1000)) })
    } catch (error) {
      problem = error
    }
    if (stopped) return
    const ofClock = checkClock()
    misses = problem === undefined ? 0 : misses + 1
    if (misses > tolerated) {
      const textOf = (quotes: boolean) =>
        problem instanceof StoreError ? refusalOf(problem, { quotes }) : "the database does not answer"
      // The database's message may change each time, such as by the file that it cannot extend.
      if (textOf(false) !== why) log.error({ err: problem }, `not ready: ${textOf(true)}`)
      why = textOf(false)
      set(false)
    } else if (misses === 0) {
      if (!answers) log.info("the database answers and accepts writes")
      why = undefined
      set(true)
    }
    onDetail([why, ofClock].filter((one) => one !== undefined).join("\n") || undefined)
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
