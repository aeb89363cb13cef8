import { randomUUID } from "node:crypto"
import { setTimeout as delay } from "node:timers/promises"
import type { Logger } from "pino"
import { Failure } from "../errors/failure.js"
import { StoreError, type StoreErrorReason } from "../errors/store-error.js"
import type { TokenRefreshStore } from "../store/store.js"
import type { Account, RefreshableAccount } from "../store/types.js"
import { errorOf, failedOf } from "./failed.js"
import type { ErrorKind, Provider } from "./provider.js"
import type { ProviderLoad } from "./provider-load.js"
import { refreshAtEndpoint } from "./token-endpoint.js"

/** An account as it was read before its refresh, its tenant and its provider. */
export interface RefreshTarget {
  readonly tenant: string
  readonly provider: Provider
  readonly account: Account
}

/** What the log says about a refresh. */
interface LoggedOutcome {
  readonly outcome: "refreshed" | ErrorKind
  readonly failure?: string | undefined
  readonly oauth_error?: string | undefined
  readonly http_status?: number | undefined
}

/** A call that waits for a refresh. */
export interface WaitingCall {
  readonly signal: AbortSignal | undefined
  /** See AccessTokens.get. */
  readonly asked: () => void
}

export interface RefreshOptions {
  /** What this process does at the provider. */
  load: ProviderLoad
  /** Returns a call that still waits. Without one the refresh ends. */
  waitingCall: () => WaitingCall | undefined
}

export interface TokenRefreshOptions {
  tokenRefreshes: TokenRefreshStore
  log: Logger
  /** The time in milliseconds since 1970. */
  now: () => number
  /** The monotonic clock, in milliseconds. */
  clock: () => number
  /** The clock of the lease, which others let expire: it also advances while the machine is suspended. */
  elapsed: () => number
  maxPauseMs: number
  /** Aborts when the refreshes have to end. */
  stopped: AbortSignal
}

/** Refreshes an account's tokens. Returns undefined if others have changed them, so that it has to be read again. */
export type TokenRefresh = (target: RefreshTarget, options: RefreshOptions) => Promise<Account | undefined>

/** How much longer the lease is than the provider's timeout, in ms, for the work before and after the request. */
const leaseMarginMs = 5_000
/** The part of that margin that must remain for the work after the request when the request begins, in milliseconds. */
const reserveMs = 2_000
/** The shortest pause between two attempts to get the lease that another process holds, in milliseconds. */
const minPauseMs = 50
/** How long storing the provider's tokens is retried while the database does not accept them, in milliseconds. */
const storingMs = 60_000
/**
 * How long the lease of a holder that has not released it is held before it is used, in milliseconds. That holder may
 * have tokens that it could not store during an outage of the database, and stores them in this time. It covers a
 * statement that hangs on a dead connection (5.5 seconds with the default timeout) and the pause before the next try.
 */
const takeoverMs = 8_000
/** Errors of the store that may be temporary. */
const temporaryErrors: ReadonlySet<StoreErrorReason> = new Set([
  "DATABASE_UNAVAILABLE",
  "QUEUE_FULL",
  "STATEMENT_TIMEOUT",
  "CONFLICT",
])

/** Creates the refresh, which asks the provider only while it holds the account's lease. */
export function tokenRefresh(options: TokenRefreshOptions): TokenRefresh {
  const { tokenRefreshes, log, now, clock, elapsed, maxPauseMs, stopped } = options

  async function refresh(target: RefreshTarget, { load, waitingCall }: RefreshOptions): Promise<Account | undefined> {
    const holder = randomUUID()
    const { account: read } = target
    const ms = target.provider.timeoutMs + leaseMarginMs
    /** The lease while this refresh has it: when it may be used, by the clock, and how long it is held before. */
    let lease: { usableAt: number; holdMs: number } | undefined
    let pauseMs = minPauseMs
    for (;;) {
      const release = await load.permits.acquire()
      try {
        if (lease === undefined && waitingCall() === undefined) throw cancelled()
        if (lease === undefined) load.checkPause()
        const start = elapsed()
        const begun = await tokenRefreshes.begin(target, read, { holder, ms })
        if (begun === null) throw new Failure("ACCOUNT_NOT_FOUND")
        if (begun.taken) {
          // After a delay too little of the lease is left, and the database may have been unavailable to every holder.
          const isLate = elapsed() - start > leaseMarginMs - reserveMs
          const holdMs = lease?.holdMs ?? (mayStillStore(begun.unreleasedMs) ? takeoverMs : 0)
          if (lease === undefined || isLate) lease = { usableAt: clock() + holdMs, holdMs }
          if (clock() >= lease.usableAt && !isLate) {
            // Checked after the last wait, so that each refresh belongs to a call that has not ended.
            const waiting = waitingCall()
            if (waiting !== undefined) {
              waiting.asked()
              return await ask(target, load, begun, holder)
            }
            await releaseLease(target, holder)
            throw cancelled()
          }
        } else {
          if (isOver(begun, read)) {
            if (lease !== undefined) await releaseLease(target, holder)
            return undefined
          }
          lease = undefined
        }
      } finally {
        release()
      }
      if (lease === undefined) {
        await delay(pauseMs)
        pauseMs = Math.min(2 * pauseMs, maxPauseMs)
      } else {
        // This continues without a waiting call, because later calls would otherwise have to start again.
        if (stopped.aborted) throw cancelled()
        await delay(Math.min(Math.max(lease.usableAt - clock(), 0), maxPauseMs))
      }
    }
  }

  /** Releases a lease that was not used. If that fails, it expires. */
  async function releaseLease(target: RefreshTarget, holder: string): Promise<void> {
    await tokenRefreshes.release(target, target.account, holder).catch(() => {})
  }

  /** Asks the provider, and stores its answer before anything else is done. */
  async function ask(
    target: RefreshTarget,
    load: ProviderLoad,
    { account: sent, lastFailure }: RefreshableAccount,
    holder: string,
  ): Promise<Account | undefined> {
    const start = clock()
    const answer = await refreshAtEndpoint(target.provider, sent.refresh_token as string, now())
    const outcome = load.judged(JSON.stringify([sent.userId, sent.providerAccountId]), answer)
    if (outcome.kind === "tokens") {
      const { tokens } = outcome
      const stored = await retryWhileTemporary(() => tokenRefreshes.complete(target, sent, holder, tokens))
      logOutcome(target, { outcome: "refreshed" }, start)
      if (stored === null) throw new Failure("ACCOUNT_NOT_FOUND")
      return stored.access_token === tokens.access_token ? stored : undefined
    }
    const failed = failedOf(outcome, lastFailure)
    const { kind, failure, code, status } = outcome
    logOutcome(target, { outcome: kind, failure, oauth_error: code, http_status: status }, start)
    const account = await retryWhileTemporary(() => tokenRefreshes.fail(target, sent, holder, failed))
    // Tokens that were kept are no other tokens to try: the provider has just answered with them.
    if (account !== null && failed.kept === undefined && differ(account, sent)) return undefined
    throw errorOf(failed)
  }

  function logOutcome({ tenant, account }: RefreshTarget, outcome: LoggedOutcome, start: number): void {
    const entry = { tenant, provider: account.provider, ...outcome, duration_ms: Math.round(clock() - start) }
    if (outcome.outcome === "refreshed" || outcome.outcome === "refused")
      log.info(entry, "requested tokens from a provider")
    else log.warn(entry, "requested tokens from a provider")
  }

  /** Runs work whose result must not be lost. Retries it while the database does not accept it. */
  async function retryWhileTemporary<T>(work: () => Promise<T>): Promise<T> {
    const start = clock()
    for (let pauseMs = minPauseMs; ; pauseMs = Math.min(2 * pauseMs, maxPauseMs)) {
      try {
        return await work()
      } catch (error) {
        const mayPass = error instanceof StoreError && temporaryErrors.has(error.reason)
        if (!mayPass || stopped.aborted || clock() - start > storingMs) {
          log.error({ err: error }, "the response of a provider cannot be stored")
          throw error
        }
        await delay(pauseMs)
      }
    }
  }

  return refresh
}

/** Whether an account's tokens have changed, so that no refresh is needed. Throws the reason if the refresh failed. */
function isOver({ account, refresh }: RefreshableAccount, read: Account): boolean {
  if (differ(account, read)) return true
  if (refresh.kind === "failed") throw errorOf(refresh)
  return false
}

/** Also compares the expiry, because a provider may return the same token again with a later expiry. */
function differ(one: Account, other: Account): boolean {
  return (
    one.access_token !== other.access_token ||
    one.refresh_token !== other.refresh_token ||
    one.expires_at !== other.expires_at
  )
}

/**
 * Whether the holder of a lease that expired without being released may still be storing the provider's answer.
 *
 * @param unreleasedMs The time since the lease expired, if there is such a lease.
 */
function mayStillStore(unreleasedMs: number | undefined): boolean {
  return unreleasedMs !== undefined && unreleasedMs < storingMs + takeoverMs
}

function cancelled(): Failure {
  return new Failure("CANCELLED")
}
