import { type AuthwireClient, createAuthwireClient } from "@authwire/client"
import { AccountType } from "@authwire/proto"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { startServer, staticKey } from "@authwire/test-support/processes/server.js"
import { beforeEach, describe, expect, test } from "@jest/globals"

// A key that may write accounts, but not read the tokens of providers, must not get them in the response of a write.
describe("the responses of LinkAccount and UnlinkAccount", () => {
  const all = staticKey(["all"])
  const writer = staticKey(["accounts:write", "users:read"])
  const both = staticKey(["accounts:write", "accounts:read"])
  const stranger = staticKey(["all"], { tenant: "stranger" })
  let userId: string
  const authwire = useAuthwire("sqlite", { keys: [all, writer, both, stranger] })
  const accountsOf = (key: { text: string }) => authwire.clientOf(key).accounts

  beforeEach(async () => {
    userId = crypto.randomUUID()
    await authwire.client.users.createUser({ id: userId })
    await authwire.client.accounts.linkAccount({ ...account(), ...secrets, scope: "openid" })
  })

  const secrets = {
    ...{ accessToken: "access-3f8a", refreshToken: "refresh-3f8a", idToken: "id-3f8a" },
    extra: { oauth_token_secret: "secret-3f8a" },
  }
  const none = {
    accessToken: undefined,
    refreshToken: undefined,
    idToken: undefined,
    extra: undefined,
    etag: undefined,
  }
  const key = () => ({ provider: "p", providerAccountId: userId })
  const account = () => ({ ...key(), userId, type: AccountType.OIDC })

  test("contain no tokens without the scope accounts:read, like a list without include_tokens", async () => {
    const accounts = accountsOf(writer)
    const [listed] = (await accounts.listAccountsByUser({ userId })).accounts
    const expected = { ...listed, createTime: undefined, updateTime: undefined }
    expect(expected).toMatchObject({ ...account(), scope: "openid" })
    const { account: linked } = await accounts.linkAccount(account())
    expect(linked).toEqual(expected)
    expect((await accountsOf(all).getAccount(key())).account).toMatchObject(secrets)
    const replaced = { accessToken: "new", idToken: secrets.idToken, scope: "openid" }
    const { account: given } = await accounts.linkAccount({ ...account(), ...replaced })
    expect(given).toEqual(expected)
    expect((await accountsOf(all).getAccount(key())).account).toMatchObject({ ...secrets, accessToken: "new" })
    const { account: unlinked } = await accounts.unlinkAccount(key())
    expect(unlinked).toEqual(expected)
    for (const one of [linked, given, unlinked]) expect(JSON.stringify(one)).not.toContain("3f8a")
  })

  test("an etag, which is a digest of the tokens too, requires the scope", async () => {
    const { account: read } = await accountsOf(both).getAccount(key())
    const request = { ...account(), accessToken: "new", etag: read?.etag as string }
    await expect(accountsOf(writer).linkAccount(request)).rejects.toThrow("lacks the scope accounts:read")
    expect((await accountsOf(both).linkAccount(request)).account).toMatchObject({ accessToken: "new" })
  })

  test("contain the tokens with that scope; they follow the scopes that the key has when a call is repeated with its idempotency key", async () => {
    const [link, unlink] = [0, 1].map(() => ({ headers: { "idempotency-key": crypto.randomUUID() } }))
    const call = async ({ accounts }: Pick<AuthwireClient, "accounts">) => {
      const { account: linked } = await accounts.linkAccount(account(), link)
      const { account: unlinked } = await accounts.unlinkAccount(key(), unlink)
      return [linked, unlinked]
    }
    const first = await call(authwire.clientOf(both))
    for (const one of first) expect(one).toMatchObject({ ...secrets, etag: expect.any(String) })
    const keys = [{ ...both, entry: { ...both.entry, scopes: ["accounts:write"] } }]
    const reduced = await startServer({ databaseUrl: authwire.database.url, keys })
    const client = createAuthwireClient({ url: reduced.grpcUrl, apiKey: both.text })
    const repeated = await call(client)
    client.close()
    await reduced.stop()
    expect(repeated).toEqual(first.map((one) => ({ ...one, ...none })))
    expect(await call(authwire.clientOf(both))).toEqual(first)
  })

  test("another API key, of the same tenant or of another one, gets none by an idempotency key, and cannot see that it was used", async () => {
    const options = { headers: { "idempotency-key": crypto.randomUUID() } }
    expect((await accountsOf(all).unlinkAccount(key(), options)).account).toMatchObject(secrets)
    const notFound = { code: "NOT_FOUND" }
    for (const other of [stranger, both])
      await expect(accountsOf(other).unlinkAccount(key(), options)).rejects.toMatchObject(notFound)
    await expect(accountsOf(stranger).linkAccount(account(), options)).rejects.toMatchObject(notFound)
    expect((await accountsOf(both).linkAccount(account(), options)).account).toMatchObject(key())
  })
})
