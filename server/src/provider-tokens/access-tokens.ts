import { randomUUID } from "node:crypto"
import { setTimeout as delay } from "node:timers/promises"
import type { Logger } from "pino"
import { Failure } from "../rpc/errors.js"
import { StoreError, type StoreErrorReason } from "../store/error.js"
import type { Caller, TokenRefreshStore } from "../store/store.js"
import type { Account, RefreshableAccount, UserAccountKey } from "../store/types.js"
import { orAborted } from "../util/abort.js"
import { type Failed, failedOf, failureOf } from "./failed.js"
import { type Places, places } from "./places.js"
import type { Provider, Providers } from "./provider.js"
import { refreshAtEndpoint } from "./token-endpoint.js"

/** Access tokens of accounts, refreshed when that is due. */
export interface AccessTokens {
  /**
   * Returns the account with an access token that is good for so many milliseconds. Throws ACCOUNT_NOT_FOUND, INVALID_FIELD,
   * REFRESH_TOKEN_MISSING, PROVIDER_NOT_CONFIGURED, REFRESH_REFUSED, CLIENT_REFUSED, PROVIDER_UNAVAILABLE, OVERLOADED and what
   * the store throws.
   *
   * @param asked Called at most once, by one of those who wait for a refresh: the provider was asked.
   */
  get(caller: Caller, key: UserAccountKey, minValidityMs: number, asked: () => void): Promise<Account>
  /** Waits for the refreshes in progress, so many milliseconds at the most; those that are left give up soon. */
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

/** How many accounts of one provider are refreshed at the same time by one process. */
const refreshesAtOnce = 32
/** How many calls of one process may wait for one provider, and for how many accounts. */
const maxWaiting = 1_000
/** How much longer a lease is than the provider may take, in milliseconds: for what comes before and after the request. */
const leaseMarginMs = 5_000
/** Of that, what must be left for the time after the request when it begins. */
const reserveMs = 2_000
/** The pauses between two looks at an account that another process refreshes, in milliseconds. */
const minPauseMs = 50
const maxPauseMs = 1_000
/** How long tokens that the provider has given are kept for a database that does not take them, in milliseconds. */
const storingMs = 60_000
/** How often tokens may turn out to be others than those that were read, before a call gives up. */
const maxRounds = 10

/** A refresh of one account, for all in this process who wait for it. */
interface Refresh {
  promise: Promise<Account | undefined>
  waiters: number
  /** Whether the provider was asked, and whether one of the waiters has been told. */
  asked: boolean
  told: boolean
}

/** Whose account it is that is refreshed, and where. */
interface Owner extends Caller {
  readonly line: Line
  readonly provider: Provider
}

/** Those of one process who wait for one provider of a tenant. */
interface Line {
  readonly places: Places
  calls: number
  accounts: number
}

/** What the database may throw at any time, and may not throw a moment later. */
const passing: ReadonlySet<StoreErrorReason> = new Set([
  "DATABASE_UNAVAILABLE",
  "QUEUE_FULL",
  "STATEMENT_TIMEOUT",
  "CONFLICT",
])

/**
 * In one process those who need the same refresh share it. Of several processes the one that has the lease asks the
 * provider, and the others look at the account until it has other tokens. No connection of the database is held while the
 * provider is waited for. A refresh goes on when who began it gives up; before the provider is asked, it ends when nobody
 * waits any more.
 */
export function accessTokens(options: AccessTokensOptions): AccessTokens {
  const { tokenRefreshes, providers, log, now, clock } = options
  const refreshes = new Map<string, Refresh>()
  /** By tenant and name of the provider: as many as there were in the file. */
  const lines = new Map<string, Line>()
  let stopped = false

  function lineOf(tenant: string, provider: string): Line {
    const name = JSON.stringify([tenant, provider])
    const line = lines.get(name) ?? { places: places(refreshesAtOnce), calls: 0, accounts: 0 }
    lines.set(name, line)
    return line
  }

  /** Waits until an account has other tokens. Undefined: it has them from somebody else, and is to be read again. */
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
      return await (caller.aside?.(waited) ?? waited)
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
    const goOn = () => {
      if (refresh.waiters > 0 && !stopped) return
      // Whoever comes now begins another one.
      forget()
      throw new Failure("CANCELLED")
    }
    refreshes.set(name, refresh)
    line.accounts++
    // In a turn of its own: the first waiter is counted before.
    refresh.promise = Promise.resolve()
      .then(() => run(owner, account, refresh, goOn))
      .finally(() => {
        line.accounts--
        forget()
      })
    refresh.promise.catch(() => {})
    return refresh
  }

  async function run(owner: Owner, read: Account, refresh: Refresh, goOn: () => void): Promise<Account | undefined> {
    const holder = randomUUID()
    const ms = owner.provider.timeoutMs + leaseMarginMs
    for (;;) {
      const leave = await owner.line.places.enter()
      try {
        goOn()
        const start = clock()
        const begun = await tokenRefreshes.begin(owner, read, { holder, ms })
        if (begun === null) throw new Failure("ACCOUNT_NOT_FOUND")
        if (begun.taken) {
          // Whoever was held up here has too little of the lease left, and takes it again.
          if (clock() - start <= leaseMarginMs - reserveMs) {
            refresh.asked = true
            return await ask(owner, begun.account, holder)
          }
          continue
        }
        if (isOver(begun, read)) return undefined
      } finally {
        leave()
      }
      if (await isOverByOthers(owner, read, goOn)) return undefined
    }
  }

  /** Asks the provider, and stores what it answers before anything else is done. */
  async function ask(owner: Owner, sent: Account, holder: string): Promise<Account | undefined> {
    const start = clock()
    const outcome = await refreshAtEndpoint(owner.provider, sent.refresh_token as string, now())
    if (outcome.kind === "tokens") {
      const { tokens } = outcome
      const stored = await lastingly(() => tokenRefreshes.complete(owner, sent, holder, tokens))
      tell(owner, sent, "refreshed", start)
      if (stored === null) throw new Failure("ACCOUNT_NOT_FOUND")
      return stored.access_token === tokens.access_token ? stored : undefined
    }
    const failed: Failed = failedOf(outcome)
    tell(owner, sent, failed.failure, start)
    const account = await lastingly(() => tokenRefreshes.fail(owner, sent, holder, failed))
    if (account !== null && differ(account, sent)) return undefined
    throw failureOf(failed)
  }

  function tell({ tenant }: Caller, { provider }: Account, outcome: string, start: number): void {
    const entry = { tenant, provider, outcome, duration_ms: Math.round(clock() - start) }
    if (outcome === "refreshed" || outcome === "refused") log.info(entry, "provider asked for tokens")
    else log.warn(entry, "provider asked for tokens")
  }

  /**
   * Waits while somebody else has the lease. Returns whether the account has other tokens then; throws why it was not
   * refreshed, if that has failed.
   */
  async function isOverByOthers(owner: Owner, read: Account, goOn: () => void): Promise<boolean> {
    for (let pauseMs = minPauseMs; ; pauseMs = Math.min(2 * pauseMs, maxPauseMs)) {
      await delay(pauseMs)
      goOn()
      const found = await tokenRefreshes.get(owner, read)
      if (found === null) throw new Failure("ACCOUNT_NOT_FOUND")
      if (isOver(found, read)) return true
      if (found.refresh.kind !== "held") return false
    }
  }

  /** Does what must not be lost, again and again while the database does not take it. */
  async function lastingly<T>(work: () => Promise<T>): Promise<T> {
    const start = clock()
    for (let pauseMs = minPauseMs; ; pauseMs = Math.min(2 * pauseMs, maxPauseMs)) {
      try {
        return await work()
      } catch (error) {
        const mayPass = error instanceof StoreError && passing.has(error.reason)
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
 * Whether an access token is good for so long. One of which nobody knows when it expires is; so is one that has more than
 * half of its life before it, or one with a short life would never be.
 */
function isGood({ access_token, expires_at, expires_in }: Account, minValidityMs: number, now: number): boolean {
  if (!access_token) return false
  if (expires_at === undefined) return true
  const leftMs = expires_at * 1000 - now
  return leftMs > 0 && (leftMs >= minValidityMs || (expires_in !== undefined && leftMs > expires_in * 500))
}

/** Whether an account has other tokens than it had, so that nobody needs to refresh those. Throws why it cannot be done. */
function isOver({ account, refresh }: RefreshableAccount, read: Account): boolean {
  if (differ(account, read)) return true
  if (refresh.kind === "failed") throw failureOf(refresh)
  return false
}

/** A provider may also give the same token again, for longer. */
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
