import { Failure } from "../errors/failure.js"
import type { Outcome } from "./token-answer.js"

/** The maximum number of accounts of one provider of a tenant that one process refreshes at the same time. */
const refreshesAtOnce = 32
/** The number of outages in a row after which a provider is paused. */
const outagesBeforePause = 5
/** The first and the longest pause of a provider that does not ask for one, in milliseconds. */
const [firstPauseMs, longestPauseMs] = [5_000, 60_000]
/** How long a successful refresh proves that the provider accepts the service as a client, in milliseconds. */
const proofMs = 3_600_000

/**
 * What one process does at one provider of a tenant, and what it knows about the provider. A provider that is down is
 * paused as a whole, so that the calls for its accounts fail at once, and not one after the other by a timeout.
 */
export interface ProviderLoad {
  readonly permits: Semaphore
  /** The number of calls that wait. */
  calls: number
  /** The number of accounts that are refreshed. */
  accounts: number
  /** Throws PROVIDER_UNAVAILABLE while the provider is paused. */
  checkPause(): void
  /** Notes the outcome of a refresh. Returns it, with `refused` in place of `client` if it is not the client's fault. */
  judged(account: string, outcome: Outcome): Outcome
}

/** @param clock A clock for durations, in milliseconds. */
export function providerLoad(clock: () => number): ProviderLoad {
  let outages = 0
  let pausedUntil = Number.NEGATIVE_INFINITY
  let succeededAt = Number.NEGATIVE_INFINITY
  /** Two of the accounts for which the provider has rejected the client since a refresh succeeded. */
  const rejected = new Set<string>()

  /**
   * Some providers reject a dead token as if the client were wrong. So it is the client's fault only if another account
   * is rejected too, and no refresh succeeds in between. The first account is enough if nothing proves that the client
   * is accepted. It is not for `unauthorized_client`, which is the answer for a dead token more often than not.
   */
  function isClients(account: string, code: string | undefined): boolean {
    if (rejected.size < 2) rejected.add(account)
    if (rejected.size > 1) return true
    return code !== "unauthorized_client" && clock() - succeededAt >= proofMs
  }

  return {
    permits: semaphore(refreshesAtOnce),
    calls: 0,
    accounts: 0,

    checkPause() {
      const ms = pausedUntil - clock()
      if (ms <= 0) return
      throw new Failure("PROVIDER_UNAVAILABLE", { retryAfterMs: ms, metadata: { failure: "paused" } })
    },

    judged(account, outcome) {
      if (outcome.kind === "tokens") {
        succeededAt = clock()
        rejected.clear()
      }
      const isOutage = outcome.kind === "unavailable" && outcome.failure !== "expired"
      outages = isOutage ? outages + 1 : 0
      if (isOutage) {
        const { retryAfterMs = 0 } = outcome
        const further = outages - outagesBeforePause
        const pauseMs = further < 0 ? 0 : Math.min(firstPauseMs * 2 ** further, longestPauseMs)
        pausedUntil = Math.max(pausedUntil, clock() + Math.max(retryAfterMs, pauseMs))
      }
      if (outcome.kind !== "client" || outcome.isConfigured || isClients(account, outcome.code)) return outcome
      return { ...outcome, kind: "refused" }
    },
  }
}

/** A semaphore with a limited number of permits. Further callers wait in order of arrival. */
interface Semaphore {
  /** Waits for a permit. Returns a function that releases it and must be called once. */
  acquire(): Promise<() => void>
}

function semaphore(count: number): Semaphore {
  const waiting: (() => void)[] = []
  let free = count
  const release = (): void => {
    const next = waiting.shift()
    // The permit is handed to the next waiter directly, so that a new caller cannot overtake it.
    if (next === undefined) free++
    else next()
  }
  return {
    async acquire() {
      if (free > 0) free--
      else await new Promise<void>((resolve) => waiting.push(resolve))
      return release
    },
  }
}
