import type { Adapter, AdapterAccount, AdapterUser } from "@auth/core/adapters"
import type { JWTOptions } from "@auth/core/jwt"
import { handleLoginOrRegister as handle } from "../../../node_modules/@auth/core/lib/actions/callback/handle-login.js"

/**
 * The part of Auth.js that decides after authentication whether a user is created, found or rejected. The visitor
 * either has no session, and sessions are in the database, or is signed in with a JWT. Throws the errors of Auth.js.
 */
export function handleLoginOrRegister(
  profile: Partial<AdapterUser> & { email: string },
  account: AdapterAccount,
  adapter: Required<Adapter>,
  signedIn?: { token: string; jwt: Partial<JWTOptions>; cookie: string },
) {
  const options = {
    adapter,
    events: {},
    jwt: signedIn?.jwt ?? {},
    cookies: { sessionToken: { name: signedIn?.cookie } },
    session: {
      strategy: signedIn === undefined ? "database" : "jwt",
      maxAge: 3600,
      generateSessionToken: () => crypto.randomUUID(),
    },
    provider: { id: account.provider, account: () => ({}) },
  }
  return handle(signedIn?.token ?? "", profile, account, options as unknown as Parameters<typeof handle>[3])
}
