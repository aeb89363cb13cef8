import { decodeJwt } from "jose"
import { Failure } from "../errors/failure.js"
import type { Provider, Providers } from "../provider-tokens/provider.js"
import type { AccountStore, Caller, SessionStore } from "../store/store.js"
import { logoutEndpoint } from "./logout-endpoint.js"

/** The most accounts of a user among which that of a session is looked for. */
const maxAccounts = 100
/** The longest ID token that is put into an address, in characters. Servers reject requests whose first line is long. */
const longestHint = 6_000

/** A stored session, by its token, or what the application knows of the sign-in of another one. */
export type EndingSession =
  | { readonly sessionToken: string }
  | { readonly userId: string; readonly provider: string; readonly providerSessionId?: string | undefined }

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
    session: EndingSession,
    redirectUri: string | undefined,
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
  const endpoints = new WeakMap<Provider, ReturnType<typeof logoutEndpoint>>()

  /** The ID token of the provider's session `sid`. That of another one could sign the user out of another browser. */
  async function hint(caller: Caller, userId: string, name: string, clientId: string, sid: string | undefined) {
    const { items } = await accounts.listByUser(caller, userId, { size: maxAccounts }, { tokens: true })
    const found = items.filter(({ provider, id_token: token }) => provider === name && isHint(token, clientId, sid))
    return found.length === 1 ? found[0]?.id_token : undefined
  }

  async function stored(caller: Caller, sessionToken: string) {
    const found = await sessions.getWithUser(caller, sessionToken)
    const session = found && (await sessions.get(caller, found.session.id ?? ""))
    if (session === null) throw new Failure("SESSION_NOT_FOUND")
    return session
  }

  return {
    async of(caller, session, redirectUri, waits) {
      const signIn = "sessionToken" in session ? await stored(caller, session.sessionToken) : session
      const { userId, provider: name = "", providerSessionId } = signIn
      const provider = providers.of(caller.tenant, name)
      if (provider?.issuer === undefined) return undefined
      const { issuer, clientId, timeoutMs } = provider
      const token = await hint(caller, userId, name, clientId, providerSessionId)
      const endpoint = endpoints.get(provider) ?? logoutEndpoint({ issuer, timeoutMs, clock })
      endpoints.set(provider, endpoint)
      waits()
      const address = await endpoint(caller.signal)
      if (address === undefined) return undefined
      const url = new URL(address)
      url.searchParams.set("client_id", clientId)
      if (redirectUri !== undefined) url.searchParams.set("post_logout_redirect_uri", redirectUri)
      if (token !== undefined) url.searchParams.set("id_token_hint", token)
      return url.href
    },
  }
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
