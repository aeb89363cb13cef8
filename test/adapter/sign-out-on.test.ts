import { AuthwireAdapter } from "@authwire/client"
import { createDatabase, serviceDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { type ServerProcess, startServer, staticKey } from "@authwire/test-support/processes/server.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

const all = staticKey(["all"])
const withoutSessions = staticKey(["users:write", "users:read", "accounts:write"])

const target = serviceDatabase()

describe("AuthwireAdapter with the option signOutOn", () => {
  let database: TestDatabase
  let server: ServerProcess

  beforeAll(async () => {
    database = await createDatabase(target)
    const env = { AUTHWIRE_API_KEYS: JSON.stringify([all.entry, withoutSessions.entry]) }
    server = await startServer({ databaseUrl: database.url, keys: false, env })
  })
  afterAll(async () => {
    await server?.stop()
    await database?.drop()
  })

  type SignOutOn = NonNullable<Parameters<typeof AuthwireAdapter>[0]["signOutOn"]>
  const adapterWith = (signOutOn?: SignOutOn, apiKey = all.text) =>
    AuthwireAdapter({ url: server.grpcUrl, apiKey, signOutOn })

  /** Creates a user with an account and two sessions. */
  async function signedIn() {
    const adapter = adapterWith()
    const id = crypto.randomUUID()
    const email = `${id}@example.com`
    await adapter.createUser({ id, email, emailVerified: null })
    const account = { provider: "p", providerAccountId: id }
    await adapter.linkAccount({ ...account, userId: id, type: "oauth" })
    const tokens = [crypto.randomUUID(), crypto.randomUUID()]
    const expires = new Date("2100-01-01T00:00:00Z")
    for (const sessionToken of tokens) await adapter.createSession({ sessionToken, userId: id, expires })
    const isSignedIn = async () =>
      (await Promise.all(tokens.map((token) => adapter.getSessionAndUser(token)))).map((found) => found !== null)
    return { id, email, account, isSignedIn }
  }

  test("emailChange: a new address deletes all sessions, and the user is returned", async () => {
    const { id, email, account, isSignedIn } = await signedIn()
    const adapter = adapterWith(["emailChange"])
    await adapter.updateUser({ id, name: "Ada" })
    await adapter.updateUser({ id, email: ` ${email.toUpperCase()}`, emailVerified: new Date() })
    expect(await isSignedIn()).toEqual([true, true])
    const updated = await adapter.updateUser({ id, email: `new.${email}`, emailVerified: null })
    expect(updated).toEqual({ id, email: `new.${email}`, emailVerified: null, name: "Ada" })
    expect(await isSignedIn()).toEqual([false, false])
    expect(await adapter.unlinkAccount(account)).toEqual({ ...account, userId: id, type: "oauth" })
  })

  test("unlinkAccount: deletes all sessions, and returns the account", async () => {
    const { id, email, account, isSignedIn } = await signedIn()
    const adapter = adapterWith(["unlinkAccount"])
    await adapter.updateUser({ id, email: `new.${email}` })
    expect(await isSignedIn()).toEqual([true, true])
    expect(await adapter.unlinkAccount(account)).toEqual({ ...account, userId: id, type: "oauth" })
    expect(await isSignedIn()).toEqual([false, false])
    expect(await adapter.unlinkAccount(account)).toBeUndefined()
  })

  test("without the option no session is deleted, except with a deleted user", async () => {
    for (const adapter of [adapterWith(), adapterWith([])]) {
      const { id, email, account, isSignedIn } = await signedIn()
      await adapter.updateUser({ id, email: `new.${email}` })
      await adapter.unlinkAccount(account)
      expect(await isSignedIn()).toEqual([true, true])
      await adapter.deleteUser(id)
      expect(await isSignedIn()).toEqual([false, false])
    }
  })

  test("a key without sessions:write is rejected, and nothing is written", async () => {
    const { id, email, account, isSignedIn } = await signedIn()
    const rejected = { reason: "SCOPE_MISSING", message: expect.stringContaining("sessions:write") }
    const adapter = adapterWith(["emailChange", "unlinkAccount"], withoutSessions.text)
    await expect(adapter.updateUser({ id, email: `new.${email}` })).rejects.toMatchObject(rejected)
    await expect(adapter.unlinkAccount(account)).rejects.toMatchObject(rejected)
    expect((await adapter.getUser(id))?.email).toBe(email)
    expect(await isSignedIn()).toEqual([true, true])
    const plain = adapterWith(undefined, withoutSessions.text)
    expect(await plain.unlinkAccount(account)).toMatchObject(account)
  })
})
