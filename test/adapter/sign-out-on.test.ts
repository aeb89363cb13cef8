import { AuthwireAdapter } from "@authwire/client"
import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { staticKey } from "@authwire/test-support/processes/server.js"
import { describe, expect, test } from "@jest/globals"

const all = staticKey(["all"])
const withoutSessions = staticKey(["users:write", "users:read", "accounts:write"])

const target = serviceDatabase()

describe("AuthwireAdapter with the option signOutOn", () => {
  const authwire = useAuthwire(target, { keys: [all, withoutSessions] })

  type SignOutOn = NonNullable<Parameters<typeof AuthwireAdapter>[0]["signOutOn"]>
  const adapterWith = (signOutOn?: SignOutOn, apiKey = all.text) =>
    AuthwireAdapter({ url: authwire.server.grpcUrl, apiKey, signOutOn })

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

  test.each<[SignOutOn | undefined, boolean, boolean]>([
    [["emailChange"], false, true],
    [["unlinkAccount"], true, false],
    [["emailChange", "unlinkAccount"], false, false],
    [[], true, true],
    [undefined, true, true],
  ])(
    "%j: is signed in after a new address: %s, after an unlinked account: %s",
    async (signOutOn, changed, unlinked) => {
      const adapter = adapterWith(signOutOn)
      const { id, email, isSignedIn } = await signedIn()
      const user = { id, email: `new.${email}`, emailVerified: null }
      expect(await adapter.updateUser({ id, email: user.email })).toEqual(user)
      expect(await isSignedIn()).toEqual([changed, changed])
      const other = await signedIn()
      expect(await adapter.unlinkAccount(other.account)).toEqual({ ...other.account, userId: other.id, type: "oauth" })
      expect(await other.isSignedIn()).toEqual([unlinked, unlinked])
    },
  )

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
