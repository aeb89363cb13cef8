import type { AdapterUser } from "@auth/core/adapters"
import { handleLoginOrRegister } from "@authwire/test-support/applications/auth-core.js"
import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { type Authwire, startAuthwire } from "@authwire/test-support/processes/authwire.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

type Adapter = Authwire["adapter"]
type Type = "oauth" | "email" | "webauthn"

/** A sign-in by a provider, an e-mail link, or a passkey. */
interface SignIn {
  email: string
  provider?: string
  account?: string
  type?: Type
  name?: string
}

/** Runs the code of Auth.js that follows the check of the provider, the link or the passkey, with the real adapter. */
function signIn(adapter: Adapter, { email, provider = "good", account, type = "oauth", name }: SignIn) {
  const id = crypto.randomUUID()
  const providerAccountId = account ?? id
  return handleLoginOrRegister(
    { id, email, ...(name === undefined ? {} : { name }) },
    { type, provider, providerAccountId, userId: id },
    adapter,
  )
}

/** A sign-up whose process pauses before it links the account. `goOn` continues it. */
async function slowSignUp(adapter: Adapter, who: SignIn) {
  const [created, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const slow: Adapter = {
    ...adapter,
    async linkAccount(account) {
      created.resolve()
      await gate.promise
      return adapter.linkAccount(account)
    },
  }
  const end = signIn(slow, who).then(
    () => "signed in",
    (error: Error & { reason?: string }) => error.reason ?? error.name,
  )
  await created.promise
  return {
    async goOn() {
      gate.resolve()
      return end
    },
  }
}

const notLinked = { name: "OAuthAccountNotLinked" }

const target = serviceDatabase()

describe("attacks on incomplete sign-ups", () => {
  let authwire: Authwire
  let adapter: Adapter
  beforeAll(async () => {
    authwire = await startAuthwire(target, ["--provisional-sign-up=15m"])
    adapter = authwire.adapter
  })
  afterAll(() => authwire.close())

  const address = () => `${crypto.randomUUID()}@example.com`
  const usersOf = (email: string) => authwire.rows("SELECT id, name FROM users WHERE email = ?", [email])
  const accountsOf = async (id: string) =>
    (await authwire.rows("SELECT provider FROM accounts WHERE user_id = ?", [id])).map(({ provider }) => provider)

  test("an abandoned sign-up locks nobody out: the same person can sign up again, as a user with another id", async () => {
    const victim = { email: address(), account: crypto.randomUUID(), name: "Ada" }
    await slowSignUp(adapter, victim)
    const [before] = await usersOf(victim.email)
    const { user, session } = await signIn(adapter, victim)
    expect(await usersOf(victim.email)).toEqual([{ id: user.id, name: "Ada" }])
    expect(user.id).not.toBe(before?.id)
    expect(await accountsOf(user.id as string)).toEqual(["good"])
    const { sessionToken } = session as { sessionToken: string }
    expect((await adapter.getSessionAndUser(sessionToken))?.user.id).toBe(user.id)
    // From now on the user is an ordinary one.
    await expect(signIn(adapter, { ...victim, provider: "evil" })).rejects.toMatchObject(notLinked)
    expect((await signIn(adapter, victim)).user.id).toBe(user.id)
  })

  test("a provider that does not verify addresses gets a new user, as for any free address, and nothing of the victim", async () => {
    const email = address()
    const victim = await slowSignUp(adapter, { email, name: "Ada" })
    const [before] = await usersOf(email)
    const { user } = await signIn(adapter, { email, provider: "evil", name: "Mallory" })
    expect(user.id).not.toBe(before?.id)
    expect(await usersOf(email)).toEqual([{ id: user.id, name: "Mallory" }])
    // The victim's sign-up was only slow. It must not link its account to the attacker's user.
    expect(await victim.goOn()).toBe("USER_NOT_FOUND")
    expect(await accountsOf(user.id as string)).toEqual(["evil"])
    expect(await accountsOf(before?.id as string)).toEqual([])
  })

  test("an attacker who signs up first and pauses gets nothing: its account is never linked to the victim", async () => {
    const email = address()
    const attacker = await slowSignUp(adapter, { email, provider: "evil", name: "Mallory" })
    const { user } = await signIn(adapter, { email, name: "Ada" })
    expect(await attacker.goOn()).toBe("USER_NOT_FOUND")
    expect(await usersOf(email)).toEqual([{ id: user.id, name: "Ada" }])
    expect(await accountsOf(user.id as string)).toEqual(["good"])
    await expect(signIn(adapter, { email, provider: "evil" })).rejects.toMatchObject(notLinked)
  })

  test("an e-mail link replaces an unverified user: the address is verified, and the earlier claim is deleted", async () => {
    const email = address()
    const attacker = await slowSignUp(adapter, { email, provider: "evil" })
    const { user } = await signIn(adapter, { email, type: "email", provider: "mail", account: email })
    expect((user as AdapterUser).emailVerified).toBeInstanceOf(Date)
    expect(await attacker.goOn()).toBe("USER_NOT_FOUND")
    expect(await accountsOf(user.id as string)).toEqual([])
    await expect(signIn(adapter, { email, provider: "evil" })).rejects.toMatchObject(notLinked)
  })

  test("an unfinished registration of a passkey for another person's address does not lock that person out", async () => {
    const email = address()
    const attacker = await slowSignUp(adapter, { email, provider: "passkey", type: "webauthn" })
    const { user } = await signIn(adapter, { email })
    expect(await attacker.goOn()).toBe("USER_NOT_FOUND")
    expect(await accountsOf(user.id as string)).toEqual(["good"])
    const passkey = signIn(adapter, { email, provider: "passkey", type: "webauthn" })
    await expect(passkey).rejects.toMatchObject({ name: "AccountNotLinked" })
  })
})
