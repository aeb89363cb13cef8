import { type AuthwireClient, createAuthwireClient } from "@authwire/client"
import { AccountType } from "@authwire/proto"
import { createDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { type ServerProcess, startServer, staticKey } from "@authwire/test-support/processes/server.js"
import { Code } from "@connectrpc/connect"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals"

// A key that may write accounts, but not read the tokens of providers, must not get them in the response of a write.
describe("the responses of LinkAccount and UnlinkAccount", () => {
  const all = staticKey(["all"])
  const writer = staticKey(["accounts:write", "users:read"])
  const both = staticKey(["accounts:write", "accounts:read"])
  const stranger = staticKey(["all"], { tenant: "stranger" })
  let database: TestDatabase
  let server: ServerProcess
  let userId: string
  const clients: AuthwireClient[] = []

  const start = (entries: object[]) =>
    startServer({ databaseUrl: database.url, keys: false, env: { AUTHWIRE_API_KEYS: JSON.stringify(entries) } })
  const accountsOf = ({ text }: { text: string }, to = server.grpcUrl) => {
    const client = createAuthwireClient({ url: to, apiKey: text })
    clients.push(client)
    return client.accounts
  }
  beforeAll(async () => {
    database = await createDatabase("sqlite")
    server = await start([all, writer, both, stranger].map(({ entry }) => entry))
  })
  afterAll(async () => {
    await server.stop()
    await database.drop()
  })
  beforeEach(async () => {
    userId = crypto.randomUUID()
    const client = createAuthwireClient({ url: server.grpcUrl, apiKey: all.text })
    clients.push(client)
    await client.users.createUser({ id: userId })
    await client.accounts.linkAccount({ ...account(), ...secrets, scope: "openid" })
  })
  afterEach(() => {
    for (const client of clients.splice(0)) client.close()
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
    const call = async ({ url, of }: { url: string; of: { text: string } }) => {
      const { account: linked } = await accountsOf(of, url).linkAccount(account(), link)
      const { account: unlinked } = await accountsOf(of, url).unlinkAccount(key(), unlink)
      return [linked, unlinked]
    }
    const first = await call({ url: server.grpcUrl, of: both })
    for (const one of first) expect(one).toMatchObject({ ...secrets, etag: expect.any(String) })
    const reduced = await start([{ ...both.entry, scopes: ["accounts:write"] }])
    const repeated = await call({ url: reduced.grpcUrl, of: both })
    await reduced.stop()
    expect(repeated).toEqual(first.map((one) => ({ ...one, ...none })))
    expect(await call({ url: server.grpcUrl, of: both })).toEqual(first)
  })

  test("another API key, of the same tenant or of another one, gets none by an idempotency key, and cannot see that it was used", async () => {
    const options = { headers: { "idempotency-key": crypto.randomUUID() } }
    expect((await accountsOf(all).unlinkAccount(key(), options)).account).toMatchObject(secrets)
    const notFound = { code: Code.NotFound }
    for (const other of [stranger, both])
      await expect(accountsOf(other).unlinkAccount(key(), options)).rejects.toMatchObject(notFound)
    await expect(accountsOf(stranger).linkAccount(account(), options)).rejects.toMatchObject(notFound)
    expect((await accountsOf(both).linkAccount(account(), options)).account).toMatchObject(key())
  })
})
