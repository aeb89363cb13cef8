import { randomUUID } from "node:crypto"
import { setTimeout as delay } from "node:timers/promises"
import type { Logger } from "pino"
import { Failure } from "../errors/failure.js"
import { StoreError, type StoreErrorReason } from "../errors/store-error.js"
import type { Caller, TokenRefreshStore } from "../store/store.js"
import type { Account, RefreshableAccount, UserAccountKey } from "../store/types.js"
import { orAborted } from "../util/abort.js"
import { type Failed, failedOf, failureOf } from "./failed.js"
import type { Provider, Providers } from "./provider.js"
import { type Semaphore, semaphore } from "./semaphore.js"
import { refreshAtEndpoint } from "./token-endpoint.js"

/** Access tokens of accounts. They are refreshed when necessary. */
export interface AccessTokens {
  /**
   * Returns the account with an access token that is valid for at least `minValidityMs` milliseconds (see `isGood`).
   * Throws ACCOUNT_NOT_FOUND, INVALID_FIELD, REFRESH_TOKEN_MISSING, PROVIDER_NOT_CONFIGURED, REFRESH_REFUSED,
   * CLIENT_REFUSED, PROVIDER_UNAVAILABLE, OVERLOADED and the errors of the store.
   *
   * @param asked Called just before the provider is asked. For each refresh, it is called for only one of the calls that
   * wait for it.
   */
  get(caller: Caller, key: UserAccountKey, minValidityMs: number, asked: () => void): Promise<Account>
  /** Waits at most `ms` milliseconds for the refreshes in progress. The remaining ones give up soon afterwards. */
  stop(ms: number): Promise<void>
}

export interface AccessTokensOptions {
  tokenRefreshes: TokenRefreshStore
  providers: Providers
  log: Logger
  /** The time in milliseconds since 1970. */
  now: () => number
  /** A clock for durations, in milliseconds. */
  clock: () => number
  /** The longest pause between two checks of an account that is refreshed, in milliseconds. Default: 1000. */
  maxPauseMs?: number
}

/** The maximum number of accounts of one provider of a tenant that one process refreshes at the same time. */
const refreshesAtOnce = 32
/**
 * The maximum number of calls of one process that wait for one provider of a tenant, and of accounts that they wait
 * for.
 */
const maxWaiting = 1_000
/**
 * How much longer the lease is than the provider's timeout, in milliseconds. This covers the work before and after the
 * request.
 */
const leaseMarginMs = 5_000
/** The part of that margin that must remain for the work after the request when the request begins, in milliseconds. */
const reserveMs = 2_000
/** The shortest pause between two checks of an account that another process refreshes, in milliseconds. */
const minPauseMs = 50
/**
 * The maximum time that storing the provider's tokens is retried while the database does not accept them, in
 * milliseconds.
 */
const storingMs = 60_000
/**
 * How long the lease of a holder that has not released it is held before it is used, in milliseconds. That holder may
 * have tokens that it could not store during an outage of the database, and stores them in this time. It covers a
 * statement that hangs on a dead connection (5.5 seconds with the default timeout) and the pause before the next try.
 */
const takeoverMs = 8_000
/** The number of times that a call may find changed tokens without a valid one, before it fails with CONFLICT. */
const maxRounds = 10

/** A refresh of one account, shared by all calls in this process that wait for it. */
interface Refresh {
  promise: Promise<Account | undefined>
  readonly waiters: Set<Waiting>
}

/** A call that waits for a refresh. */
interface Waiting {
  readonly signal: AbortSignal | undefined
  readonly asked: () => void
}

/** The caller whose account is refreshed, with its provider. */
interface Owner extends Caller {
  readonly line: Line
  readonly provider: Provider
}

/** The calls of one process that wait for one provider of a tenant. */
interface Line {
  readonly permits: Semaphore
  calls: number
  accounts: number
}

/** Errors of the store that may be temporary. */
const temporaryErrors: ReadonlySet<StoreErrorReason> = new Set([
  "DATABASE_UNAVAILABLE",
  "QUEUE_FULL",
  "STATEMENT_TIMEOUT",
  "CONFLICT",
])

/**
 * Creates the access to tokens. Within one process, calls that need the same refresh share it. Of several processes,
 * the one that holds the lease asks the provider. The others poll the account until its tokens have changed. No
 * database connection is held during the request to the provider. A refresh continues if the call that started it is
 * cancelled. If no call waits any more, the provider is not asked; if it was asked before, its answer is stored.
 */
export function accessTokens(options: AccessTokensOptions): AccessTokens {
  const { tokenRefreshes, providers, log, now, clock, maxPauseMs = 1_000 } = options
  const refreshes = new Map<string, Refresh>()
  /** By tenant and name of the provider. There are at most as many as in the providers file. */
  const lines = new Map<string, Line>()
  let stopped = false

  function lineOf(tenant: string, provider: string): Line {
    const name = JSON.stringify([tenant, provider])
    const line = lines.get(name) ?? { permits: semaphore(refreshesAtOnce), calls: 0, accounts: 0 }
    lines.set(name, line)
    return line
  }

  /**
   * Waits until an account has new tokens. Returns undefined if the account has to be read again, because its tokens
   * were changed elsewhere.
   */
  async function refreshed(caller: Caller, account: Account, asked: () => void): Promise<Account | undefined> {
    const provider = providers.of(caller.tenant, account.provider)
    if (provider === undefined) throw new Failure("PROVIDER_NOT_CONFIGURED")
    const line = lineOf(caller.tenant, account.provider)
    if (line.calls >= maxWaiting) throw overloaded()
    const name = JSON.stringify([caller.tenant, account.userId, account.provider, account.providerAccountId])
    const refresh = refreshes.get(name) ?? begin(name, { tenant: caller.tenant, line, provider }, account)
    const waiting: Waiting = { signal: caller.signal, asked }
    line.calls++
    refresh.waiters.add(waiting)
    try {
      const waited = orAborted(refresh.promise, caller.signal)
      return await (caller.whileWaiting?.(waited) ?? waited)
    } finally {
      line.calls--
      refresh.waiters.delete(waiting)
    }
  }

  function begin(name: string, owner: Owner, account: Account): Refresh {
    const { line } = owner
    if (line.accounts >= maxWaiting) throw overloaded()
    const refresh: Refresh = { promise: Promise.resolve(undefined), waiters: new Set() }
    const forget = () => {
      if (refreshes.get(name) === refresh) refreshes.delete(name)
    }
    /** Returns a call that still waits. Without one, and after `stop`, the refresh ends. */
    const waiter = () => {
      const found = stopped ? undefined : [...refresh.waiters].find(({ signal }) => signal?.aborted !== true)
      // A call that arrives from now on starts a new refresh.
      if (found === undefined) forget()
      return found
    }
    refreshes.set(name, refresh)
    line.accounts++
    // Starts in a later microtask, so that the first waiter is counted before.
    refresh.promise = Promise.resolve()
      .then(() => run(owner, account, waiter))
      .finally(() => {
        line.accounts--
        forget()
      })
    refresh.promise.catch(() => {})
    return refresh
  }

  async function run(owner: Owner, read: Account, waiter: () => Waiting | undefined): Promise<Account | undefined> {
    const holder = randomUUID()
    const ms = owner.provider.timeoutMs + leaseMarginMs
    /** The lease while this refresh has it: when it may be used, by the clock, and how long it is held before. */
    let lease: { usableAt: number; holdMs: number } | undefined
    for (;;) {
      const release = await owner.line.permits.acquire()
      try {
        if (lease === undefined && waiter() === undefined) throw cancelled()
        const start = clock()
        const begun = await tokenRefreshes.begin(owner, read, { holder, ms })
        if (begun === null) throw new Failure("ACCOUNT_NOT_FOUND")
        if (begun.taken) {
          // After a delay too little of the lease is left, and the database may have been unavailable to every holder.
          const isLate = clock() - start > leaseMarginMs - reserveMs
          const holdMs = lease?.holdMs ?? (mayStillStore(begun.unreleasedMs) ? takeoverMs : 0)
          if (lease === undefined || isLate) lease = { usableAt: clock() + holdMs, holdMs }
          if (clock() >= lease.usableAt && !isLate) {
            // Checked after the last wait, so that each refresh belongs to a call that has not ended.
            const waiting = waiter()
            if (waiting !== undefined) {
              waiting.asked()
              return await ask(owner, begun.account, holder)
            }
            await releaseLease(owner, read, holder)
            throw cancelled()
          }
        } else {
          if (isOver(begun, read)) {
            if (lease !== undefined) await releaseLease(owner, read, holder)
            return undefined
          }
          lease = undefined
        }
      } finally {
        release()
      }
      if (lease === undefined) {
        if (await isOverByOthers(owner, read, waiter)) return undefined
      } else {
        // This continues without a waiting call, because later calls would otherwise have to start again.
        if (stopped) throw cancelled()
        await delay(Math.min(Math.max(lease.usableAt - clock(), 0), maxPauseMs))
      }
    }
  }

  /** Releases a lease that was not used. If that fails, it expires. */
  async function releaseLease(owner: Owner, account: Account, holder: string): Promise<void> {
    await tokenRefreshes.release(owner, account, holder).catch(() => {})
  }

  /** Asks the provider, and stores its answer before anything else is done. */
  async function ask(owner: Owner, sent: Account, holder: string): Promise<Account | undefined> {
    const start = clock()
    const outcome = await refreshAtEndpoint(owner.provider, sent.refresh_token as string, now())
    if (outcome.kind === "tokens") {
      const { tokens } = outcome
      const stored = await retryWhileTemporary(() => tokenRefreshes.complete(owner, sent, holder, tokens))
      logOutcome(owner, sent, "refreshed", start)
      if (stored === null) throw new Failure("ACCOUNT_NOT_FOUND")
      return stored.access_token === tokens.access_token ? stored : undefined
    }
    const failed: Failed = failedOf(outcome)
    logOutcome(owner, sent, failed.failure, start)
    const account = await retryWhileTemporary(() => tokenRefreshes.fail(owner, sent, holder, failed))
    if (account !== null && differ(account, sent)) return undefined
    throw failureOf(failed)
  }

  function logOutcome({ tenant }: Caller, { provider }: Account, outcome: string, start: number): void {
    const entry = { tenant, provider, outcome, duration_ms: Math.round(clock() - start) }
    if (outcome === "refreshed" || outcome === "refused") log.info(entry, "requested tokens from a provider")
    else log.warn(entry, "requested tokens from a provider")
  }

  /**
   * Waits while another process holds the lease. Returns whether the account has new tokens afterwards. Throws the
   * reason of the failure if the refresh failed.
   */
  async function isOverByOthers(owner: Owner, read: Account, waiter: () => Waiting | undefined): Promise<boolean> {
    for (let pauseMs = minPauseMs; ; pauseMs = Math.min(2 * pauseMs, maxPauseMs)) {
      await delay(pauseMs)
      if (waiter() === undefined) throw cancelled()
      const found = await tokenRefreshes.get(owner, read)
      if (found === null) throw new Failure("ACCOUNT_NOT_FOUND")
      if (isOver(found, read)) return true
      if (found.refresh.kind !== "held") return false
    }
  }

  /** Runs work whose result must not be lost. Retries it while the database does not accept it. */
  async function retryWhileTemporary<T>(work: () => Promise<T>): Promise<T> {
    const start = clock()
    for (let pauseMs = minPauseMs; ; pauseMs = Math.min(2 * pauseMs, maxPauseMs)) {
      try {
        return await work()
      } catch (error) {
        const mayPass = error instanceof StoreError && temporaryErrors.has(error.reason)
        if (!mayPass || stopped || clock() - start > storingMs) {
          log.error({ err: error }, "the response of a provider cannot be stored")
          throw error
        }
        await delay(pauseMs)
      }
    }
  }

  return {
    async get(caller, key, minValidityMs, asked) {
      for (let round = 0; round < maxRounds; round++) {
        const found = await tokenRefreshes.get(caller, key)
        if (found === null) throw new Failure("ACCOUNT_NOT_FOUND")
        const { account } = found
        if (isGood(account, minValidityMs, now())) return account
        if (!account.refresh_token) throw new Failure("REFRESH_TOKEN_MISSING")
        if (found.refresh.kind === "failed") throw failureOf(found.refresh)
        const fresh = await refreshed(caller, account, asked)
        if (fresh !== undefined) return fresh
      }
      throw new Failure("CONFLICT")
    },

    async stop(ms) {
      const all = Promise.allSettled([...refreshes.values()].map(({ promise }) => promise))
      await orAborted(all, AbortSignal.timeout(ms)).catch(() => {})
      stopped = true
    },
  }
}

/**
 * Whether an access token is valid for long enough. A token without a known expiry counts as valid. So does a token
 * that has more than half of its lifetime left, because a token with a short lifetime would otherwise never be valid
 * for long enough.
 */
function isGood({ access_token, expires_at, expires_in }: Account, minValidityMs: number, now: number): boolean {
  if (!access_token) return false
  if (expires_at === undefined) return true
  const leftMs = expires_at * 1000 - now
  return leftMs > 0 && (leftMs >= minValidityMs || (expires_in !== undefined && leftMs > expires_in * 500))
}

/** Whether an account's tokens have changed, so that no refresh is needed. Throws the reason if the refresh failed. */
function isOver({ account, refresh }: RefreshableAccount, read: Account): boolean {
  if (differ(account, read)) return true
  if (refresh.kind === "failed") throw failureOf(refresh)
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

function overloaded(): Failure {
  return new Failure("OVERLOADED", { retryAfterMs: 1_000, message: "too many calls wait for providers" })
}
