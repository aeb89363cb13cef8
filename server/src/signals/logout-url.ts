import { decodeJwt } from "jose"
import { Failure } from "../errors/failure.js"
import type { Provider, Providers } from "../provider-tokens/provider.js"
import { isAllowedUrl } from "../provider-tokens/providers-file.js"
import type { AccountStore, Caller, SessionStore } from "../store/store.js"
import { orAborted } from "../util/abort.js"
import { discover, issuerRequest } from "./discovery.js"

/** How long an endpoint is used without being read again, and the issuer not asked after a failure, in milliseconds. */
const [keptMs, failurePauseMs] = [600_000, 5_000]
/** The most calls of a process that wait for issuers. */
const maxWaiting = 1_000
/** The most accounts of a user among which that of a session is looked for. */
const maxAccounts = 100
/** The longest ID token that is put into an address, in characters. Servers reject requests whose first line is long. */
const longestHint = 6_000

/** Returns the addresses at which providers end their sessions. */
export interface LogoutUrls {
  /**
   * Returns the address for a session; undefined if the provider is not known, or has no such endpoint. Throws SESSION_NOT_FOUND,
   * PROVIDER_UNAVAILABLE, OVERLOADED and the errors of the store.
   *
   * @param waits Called before the call waits for the issuer.
   */
  of(
    caller: Caller,
    request: { sessionToken: string; redirectUri: string | undefined },
    waits: () => void,
  ): Promise<string | undefined>
}

/** @param options.clock A clock for durations, in milliseconds. */
export function logoutUrls(options: {
  providers: Providers
  sessions: Pick<SessionStore, "getWithUser" | "get">
  accounts: Pick<AccountStore, "listByUser">
  clock: () => number
}): LogoutUrls {
  const { providers, sessions, accounts, clock } = options
  /** A file that is read again makes other objects. */
  const endpoints = new WeakMap<Provider, () => Promise<string | undefined>>()
  let waiting = 0

  /** The ID token of the provider's session `sid`. That of another one could sign the user out of another browser. */
  async function hint(caller: Caller, userId: string, name: string, clientId: string, sid: string | undefined) {
    const { items } = await accounts.listByUser(caller, userId, { size: maxAccounts }, { tokens: true })
    const found = items.filter(({ provider, id_token: token }) => provider === name && isHint(token, clientId, sid))
    return found.length === 1 ? found[0]?.id_token : undefined
  }

  return {
    async of(caller, { sessionToken, redirectUri }, waits) {
      const found = await sessions.getWithUser(caller, sessionToken)
      const session = found && (await sessions.get(caller, found.session.id ?? ""))
      if (session === null) throw new Failure("SESSION_NOT_FOUND")
      const { userId, provider: name = "", providerSessionId } = session
      const provider = providers.of(caller.tenant, name)
      if (provider?.issuer === undefined) return undefined
      const token = await hint(caller, userId, name, provider.clientId, providerSessionId)
      const endpointOf = endpoints.get(provider) ?? endpoint(provider.issuer, provider.timeoutMs, clock)
      endpoints.set(provider, endpointOf)
      if (waiting >= maxWaiting)
        throw new Failure("OVERLOADED", { retryAfterMs: 1_000, message: "too many calls wait for issuers" })
      waits()
      waiting++
      const address = await orAborted(endpointOf(), caller.signal).finally(() => waiting--)
      if (address === undefined) return undefined
      const url = new URL(address)
      url.searchParams.set("client_id", provider.clientId)
      if (redirectUri !== undefined) url.searchParams.set("post_logout_redirect_uri", redirectUri)
      if (token !== undefined) url.searchParams.set("id_token_hint", token)
      return url.href
    },
  }
}

/** Returns a function that reads the endpoint of an issuer, if it is due. After a failure it uses the one that is known. */
function endpoint(issuer: string, timeoutMs: number, clock: () => number): () => Promise<string | undefined> {
  const request = issuerRequest(timeoutMs)
  let known: { address: string | undefined } | undefined
  let dueAt = Number.NEGATIVE_INFINITY
  let reading: Promise<void> | undefined

  async function read(): Promise<void> {
    try {
      const { end_session_endpoint: address } = await discover(issuer, request)
      known = { address: address !== undefined && isAllowedUrl(address) ? address : undefined }
      dueAt = clock() + keptMs
    } catch (error) {
      dueAt = clock() + failurePauseMs
      if (known === undefined) throw unavailable({ cause: error, failure: "discovery", retryAfterMs: failurePauseMs })
    }
  }

  return async () => {
    const retryAfterMs = dueAt - clock()
    if (retryAfterMs <= 0) {
      reading ??= read().finally(() => {
        reading = undefined
      })
      await reading
    } else if (known === undefined) throw unavailable({ failure: "paused", retryAfterMs })
    return known?.address
  }
}

function unavailable({ failure, ...details }: { failure: string; retryAfterMs: number; cause?: unknown }): Failure {
  return new Failure("PROVIDER_UNAVAILABLE", { ...details, metadata: { failure } })
}

function isHint(idToken: string | undefined, clientId: string, sid: string | undefined): boolean {
  if (idToken === undefined || idToken.length > longestHint) return false
  try {
    const claims = decodeJwt(idToken)
    return [claims.aud].flat().includes(clientId) && claims.sid === sid
  } catch {
    return false
  }
}
