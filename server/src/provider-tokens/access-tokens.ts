import { randomUUID } from "node:crypto"
import { setTimeout as delay } from "node:timers/promises"
import type { Logger } from "pino"
import { Failure } from "../rpc/errors.js"
import { StoreError, type StoreErrorReason } from "../store/error.js"
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
   * @param asked Called if the provider was asked. For each refresh, it is called for only one of the calls that wait
   * for it.
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
/**
 * The shortest and the longest pause between two checks of an account that another process refreshes, in milliseconds.
 */
const minPauseMs = 50
const maxPauseMs = 1_000
/**
 * The maximum time that storing the provider's tokens is retried while the database does not accept them, in
 * milliseconds.
 */
const storingMs = 60_000
/** The number of times that a call may find changed tokens without a valid one, before it fails with CONFLICT. */
const maxRounds = 10

/** A refresh of one account, shared by all calls in this process that wait for it. */
interface Refresh {
  promise: Promise<Account | undefined>
  waiters: number
  /** `asked`: whether the provider was asked. `told`: whether one of the waiting calls was notified of that. */
  asked: boolean
  told: boolean
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
 * cancelled. If no call waits any more, it ends, but only while the provider has not been asked.
 */
export function accessTokens(options: AccessTokensOptions): AccessTokens {
  const { tokenRefreshes, providers, log, now, clock } = options
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
    line.calls++
    refresh.waiters++
    try {
      const waited = orAborted(refresh.promise, caller.signal)
      return await (caller.whileWaiting?.(waited) ?? waited)
    } finally {
      line.calls--
      refresh.waiters--
      if (refresh.asked && !refresh.told) {
        refresh.told = true
        asked()
      }
    }
  }

  function begin(name: string, owner: Owner, account: Account): Refresh {
    const { line } = owner
    if (line.accounts >= maxWaiting) throw overloaded()
    const refresh: Refresh = { promise: Promise.resolve(undefined), waiters: 0, asked: false, told: false }
    const forget = () => {
      if (refreshes.get(name) === refresh) refreshes.delete(name)
    }
    const throwIfAbandoned = () => {
      if (refresh.waiters > 0 && !stopped) return
      // A call that arrives from now on starts a new refresh.
      forget()
      throw new Failure("CANCELLED")
    }
    refreshes.set(name, refresh)
    line.accounts++
    // Starts in a later microtask, so that the first waiter is counted before.
    refresh.promise = Promise.resolve()
      .then(() => run(owner, account, refresh, throwIfAbandoned))
      .finally(() => {
        line.accounts--
        forget()
      })
    refresh.promise.catch(() => {})
    return refresh
  }

  async function run(
    owner: Owner,
    read: Account,
    refresh: Refresh,
    throwIfAbandoned: () => void,
  ): Promise<Account | undefined> {
    const holder = randomUUID()
    const ms = owner.provider.timeoutMs + leaseMarginMs
    for (;;) {
      const release = await owner.line.permits.acquire()
      try {
        throwIfAbandoned()
        const start = clock()
        const begun = await tokenRefreshes.begin(owner, read, { holder, ms })
        if (begun === null) throw new Failure("ACCOUNT_NOT_FOUND")
        if (begun.taken) {
          // If too little of the lease is left after a delay, the lease is acquired again.
          if (clock() - start <= leaseMarginMs - reserveMs) {
            refresh.asked = true
            return await ask(owner, begun.account, holder)
          }
          continue
        }
        if (isOver(begun, read)) return undefined
      } finally {
        release()
      }
      if (await isOverByOthers(owner, read, throwIfAbandoned)) return undefined
    }
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
    if (outcome === "refreshed" || outcome === "refused") log.info(entry, "provider asked for tokens")
    else log.warn(entry, "provider asked for tokens")
  }

  /**
   * Waits while another process holds the lease. Returns whether the account has new tokens afterwards. Throws the
   * reason of the failure if the refresh failed.
   */
  async function isOverByOthers(owner: Owner, read: Account, throwIfAbandoned: () => void): Promise<boolean> {
    for (let pauseMs = minPauseMs; ; pauseMs = Math.min(2 * pauseMs, maxPauseMs)) {
      await delay(pauseMs)
      throwIfAbandoned()
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
          log.error({ err: error }, "what a provider answered cannot be stored")
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

function overloaded(): Failure {
  return new Failure("OVERLOADED", { retryAfterMs: 1_000, message: "too many calls wait for providers" })
}
