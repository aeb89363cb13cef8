import type { Adapter, AdapterAccount, AdapterUser } from "@auth/core/adapters"
import { handleLoginOrRegister as handle } from "../../node_modules/@auth/core/lib/actions/callback/handle-login.js"

/**
 * The part of Auth.js that decides, after somebody has proved who they are, whether a user is created, found or rejected.
 * The visitor comes without a session, and sessions are in the database. Throws what Auth.js throws.
 */
export function handleLoginOrRegister(
  profile: Partial<AdapterUser> & { email: string },
  account: AdapterAccount,
  adapter: Required<Adapter>,
) {
  const options = {
    adapter,
    events: {},
    jwt: {},
    session: { strategy: "database", maxAge: 3600, generateSessionToken: () => crypto.randomUUID() },
    provider: { id: account.provider, account: () => ({}) },
  }
  return handle("", profile, account, options as unknown as Parameters<typeof handle>[3])
}
