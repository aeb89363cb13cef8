import type { AdapterSession } from "@auth/core/adapters"
import type { AuthwireClient } from "../client.js"
import { AuthwireError, type StatusName } from "../errors/error.js"

/** The parts of a client that sign a user out. */
export type SignOutClient = Pick<AuthwireClient, "adapter" | "sessions">

/** A JWT session, by the claims that the application's callback `jwt` has put into it. */
export interface JwtSignIn {
  readonly userId: string
  /** The provider that the user signed in with. */
  readonly provider: string
  /** The claim `sid` of its ID token. */
  readonly providerSessionId?: string | undefined
}

/** Options of federatedSignOut. */
export interface FederatedSignOutOptions {
  /** A client whose key has the scopes `sessions:read`, `sessions:write` and `accounts:read`. */
  client: SignOutClient
  /**
   * Where the provider sends the browser afterwards: an address of the application, `https:` or `http:`, that is registered at
   * the provider. Default: the provider decides.
   */
  postLogoutRedirectUri?: string | undefined
}

/** How long the user waits for the provider, in milliseconds. */
const timeoutMs = 3_000

/** With these the user is signed out here only: the session has ended already, or the provider cannot be asked. */
const localOnly: readonly StatusName[] = ["NOT_FOUND", "UNAVAILABLE", "DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED"]

/**
 * Signs a user out here, and returns the address to which the application sends the browser so that the provider ends its session
 * too (OpenID Connect RP-Initiated Logout 1.0). Without the second step the next sign-in at the provider would ask for nothing.
 *
 * A stored session ends in any case. The address is undefined if the session did not begin at a provider whose `issuer` the providers
 * file names, or if that has no `end_session_endpoint` or does not answer within three seconds. The application removes the cookie.
 *
 * @param session - The session of the request; its token is the value of Auth.js's cookie. For a JWT session, its sign-in.
 * @throws AuthwireError if the session could not be ended; also if a scope is missing or `postLogoutRedirectUri` is not an address,
 * and then the session has ended.
 * @example
 * ```ts
 * const address = await federatedSignOut({ sessionToken }, { client, postLogoutRedirectUri: "https://app.example.com/" })
 * redirect(address ?? "/")
 * ```
 */
export async function federatedSignOut(
  session: Pick<AdapterSession, "sessionToken"> | JwtSignIn,
  { client, postLogoutRedirectUri }: FederatedSignOutOptions,
): Promise<string | undefined> {
  const { adapter, sessions } = client
  const isStored = "sessionToken" in session
  const request = isStored ? { sessionToken: session.sessionToken } : { signIn: signInOf(session) }
  try {
    return (await sessions.getLogoutUrl({ ...request, postLogoutRedirectUri }, { timeoutMs })).url
  } catch (error) {
    if (error instanceof AuthwireError && localOnly.includes(error.code)) return undefined
    throw error
  } finally {
    if (isStored) await adapter.deleteSession?.(session.sessionToken)
  }
}

function signInOf({ userId, provider, providerSessionId }: JwtSignIn): JwtSignIn {
  return { userId, provider, providerSessionId }
}
