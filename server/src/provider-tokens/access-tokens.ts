import { Failure } from "../errors/failure.js"
import type { Caller } from "../store/store.js"
import type { Account, UserAccountKey } from "../store/types.js"
import { orAborted } from "../util/abort.js"
import { peerSignal } from "../util/peer-timeout.js"
import { expiryOf } from "./expiry.js"
import { errorOf } from "./failed.js"
import type { Providers } from "./provider.js"
import { type ProviderLoad, providerLoad } from "./provider-load.js"
import { type RefreshTarget, type TokenRefreshOptions, tokenRefresh, type WaitingCall } from "./refresh.js"

/** Access tokens of accounts. They are refreshed when necessary. */
export interface AccessTokens {
  /**
   * Returns the account with an access token that is valid for at least `minValidityMs` milliseconds (see `isGood`).
   * Throws ACCOUNT_NOT_FOUND, INVALID_FIELD, REFRESH_TOKEN_MISSING, PROVIDER_NOT_CONFIGURED, REFRESH_REFUSED,
   * CLIENT_REFUSED, PROVIDER_UNAVAILABLE, OVERLOADED and the errors of the store.
   *
   * @param options.force Refreshes an access token that seems to be valid, unless it was written in the last 30 seconds.
   * @param asked Called just before the provider is asked. For each refresh, it is called for only one of the calls that
   * wait for it.
   * @param waits Called before the call waits for a refresh. Default: nothing is called.
   */
  get(
    caller: Caller,
    key: UserAccountKey,
    options: { minValidityMs: number; force?: boolean },
    asked: () => void,
    waits?: () => void,
  ): Promise<Account>
  /** Waits at most `ms` milliseconds for the refreshes in progress. The remaining ones give up soon afterwards. */
  stop(ms: number): Promise<void>
}

export interface AccessTokensOptions extends Omit<TokenRefreshOptions, "maxPauseMs" | "stopped"> {
  providers: Providers
  /** The longest pause between two checks of an account that is refreshed, in milliseconds. Default: 1000. */
  maxPauseMs?: number
}

/** The most calls of a process that wait for one provider of a tenant, and the most accounts that they wait for. */
const maxWaiting = 1_000
/** The number of times that a call may find changed tokens without a valid one, before it fails with CONFLICT. */
const maxRounds = 10
/** How long a refresh cannot be forced after the account's tokens were written, in milliseconds. */
const forcedPauseMs = 30_000

/** A refresh of one account, shared by all calls in this process that wait for it. */
interface SharedRefresh {
  promise: Promise<Account | undefined>
  readonly calls: Set<WaitingCall>
}

/**
 * Creates the access to tokens. Within one process, calls that need the same refresh share it. Of several processes,
 * the one that holds the lease asks the provider. The others try to get the lease until the tokens have changed. No
 * database connection is held during the request to the provider. A refresh continues if the call that started it is
 * cancelled. If no call waits any more, the provider is not asked; if it was asked before, its answer is stored.
 */
export function accessTokens(options: AccessTokensOptions): AccessTokens {
  const { tokenRefreshes, providers, now, clock, maxPauseMs = 1_000 } = options
  const refreshes = new Map<string, SharedRefresh>()
  /** By tenant and name of the provider. There are at most as many as in the providers file. */
  const loads = new Map<string, ProviderLoad>()
  const stopping = new AbortController()
  const refresh = tokenRefresh({ ...options, maxPauseMs, stopped: stopping.signal })

  function loadOf(tenant: string, provider: string): ProviderLoad {
    const name = JSON.stringify([tenant, provider])
    const load = loads.get(name) ?? providerLoad(clock)
    loads.set(name, load)
    return load
  }

  /** Waits until an account has new tokens. Returns undefined if others have changed them: read it again. */
  async function refreshed(caller: Caller, account: Account, asked: () => void): Promise<Account | undefined> {
    const provider = providers.of(caller.tenant, account.provider)
    if (provider === undefined) throw new Failure("PROVIDER_NOT_CONFIGURED")
    const load = loadOf(caller.tenant, account.provider)
    load.checkPause()
    if (load.calls >= maxWaiting) throw overloaded()
    const name = JSON.stringify([caller.tenant, account.userId, account.provider, account.providerAccountId])
    const shared = refreshes.get(name) ?? begin(name, { tenant: caller.tenant, provider, account }, load)
    const call: WaitingCall = { signal: caller.signal, asked }
    load.calls++
    shared.calls.add(call)
    try {
      return await orAborted(shared.promise, caller.signal)
    } finally {
      load.calls--
      shared.calls.delete(call)
    }
  }

  function begin(name: string, target: RefreshTarget, load: ProviderLoad): SharedRefresh {
    if (load.accounts >= maxWaiting) throw overloaded()
    const shared: SharedRefresh = { promise: Promise.resolve(undefined), calls: new Set() }
    const forget = () => {
      if (refreshes.get(name) === shared) refreshes.delete(name)
    }
    const waitingCall = () => {
      const found = stopping.signal.aborted ? undefined : [...shared.calls].find(({ signal }) => !signal?.aborted)
      // A call that arrives from now on starts a new refresh.
      if (found === undefined) forget()
      return found
    }
    refreshes.set(name, shared)
    load.accounts++
    // Starts in a later microtask, so that the first call is counted before.
    shared.promise = Promise.resolve()
      .then(() => refresh(target, { load, waitingCall }))
      .finally(() => {
        load.accounts--
        forget()
      })
    shared.promise.catch(() => {})
    return shared
  }

  return {
    async get(caller, key, { minValidityMs, force = false }, asked, waits) {
      for (let round = 0; round < maxRounds; round++) {
        const found = await tokenRefreshes.get(caller, key)
        if (found === null) throw new Failure("ACCOUNT_NOT_FOUND")
        const { account, ageMs } = found
        const isForced = force && ageMs >= forcedPauseMs
        if (!isForced && isGood(account, minValidityMs, now())) return account
        if (found.refresh.kind === "failed") throw errorOf(found.refresh)
        if (!account.refresh_token) throw new Failure("REFRESH_TOKEN_MISSING")
        waits?.()
        const fresh = await refreshed(caller, account, asked)
        // While the call waited, the user may have been disabled, and the account unlinked.
        if (fresh !== undefined && (await tokenRefreshes.get(caller, key)) !== null) return fresh
      }
      throw new Failure("CONFLICT")
    },

    async stop(ms) {
      const all = Promise.allSettled([...refreshes.values()].map(({ promise }) => promise))
      await orAborted(all, peerSignal(ms)).catch(() => {})
      stopping.abort()
    },
  }
}

/**
 * Whether an access token is valid for long enough. A token without a known expiry counts as valid. So does a token
 * that has more than half of its lifetime left, because a token with a short lifetime would otherwise never be valid
 * for long enough.
 */
function isGood(account: Account, minValidityMs: number, now: number): boolean {
  const { access_token, expires_at, expires_in } = account
  if (!access_token) return false
  if (expires_at === undefined) return expires_in === undefined || expires_in > 0
  const leftMs = (expiryOf(account) ?? Number.POSITIVE_INFINITY) - now
  return leftMs > 0 && (leftMs >= minValidityMs || (expires_in !== undefined && leftMs > expires_in * 500))
}

function overloaded(): Failure {
  return new Failure("OVERLOADED", { retryAfterMs: 1_000, message: "too many calls wait for providers" })
}
