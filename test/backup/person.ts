import type { AuthwireClient } from "@authwire/client"
import { expect } from "@jest/globals"

type Adapter = AuthwireClient["adapter"]

/** A user who has signed up, with every kind of row that Authwire stores. */
export type Person = Awaited<ReturnType<typeof signUp>>

/** Signs a user up with a provider, and adds a passkey. */
export async function signUp(adapter: Adapter, name: string) {
  const email = `${name}@example.com`
  const { id } = await adapter.createUser({ id: crypto.randomUUID(), name, email, emailVerified: null })
  const account = {
    userId: id,
    type: "oidc" as const,
    provider: "p",
    providerAccountId: name,
    access_token: `access-${name}`,
    refresh_token: `refresh-${name}`,
  }
  await adapter.linkAccount(account)
  const sessionToken = crypto.randomUUID()
  await adapter.createSession({ sessionToken, userId: id, expires: new Date(Date.now() + 3_600_000) })
  const authenticator = {
    credentialID: Buffer.from(name).toString("base64"),
    userId: id,
    providerAccountId: name,
    credentialPublicKey: "a key",
    counter: 3,
    credentialDeviceType: "singleDevice",
    credentialBackedUp: false,
    transports: "internal",
  }
  await adapter.createAuthenticator(authenticator)
  return { id, email, account, sessionToken, authenticator }
}

/** Checks that all data of a user exists: the session signs in, the passkey is known, and the tokens are unchanged. */
export async function expectSignedIn(adapter: Adapter, { id, account, sessionToken, authenticator }: Person) {
  expect(await adapter.getSessionAndUser(sessionToken)).toMatchObject({ user: { id } })
  expect(await adapter.getAuthenticator(authenticator.credentialID)).toEqual(authenticator)
  expect(await adapter.getAccount(account.providerAccountId, account.provider)).toEqual(account)
}
