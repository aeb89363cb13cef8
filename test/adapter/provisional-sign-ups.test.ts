import { handleLoginOrRegister } from "@authwire/test-support/applications/auth-core.js"
import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { type Authwire, useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { beforeAll, describe, expect, test } from "@jest/globals"

type Adapter = Authwire["adapter"]

/** A sign-in by a provider. */
interface SignIn {
  email: string
  provider?: string
  name?: string
}

/** Runs the code of Auth.js that follows the check of the provider, with the real adapter. */
function signIn(adapter: Adapter, { email, provider = "good", name }: SignIn) {
  const id = crypto.randomUUID()
  return handleLoginOrRegister(
    { id, email, ...(name === undefined ? {} : { name }) },
    { type: "oauth", provider, providerAccountId: id, userId: id },
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
  const authwire = useAuthwire(target, { args: ["--provisional-sign-up=15m"] })
  let adapter: Adapter
  beforeAll(async () => {
    adapter = authwire.adapter
  })

  const address = () => `${crypto.randomUUID()}@example.com`
  const usersOf = (email: string) => authwire.rows("SELECT id, name FROM users WHERE email = ?", [email])
  const accountsOf = async (id: string) =>
    (await authwire.rows("SELECT provider FROM accounts WHERE user_id = ?", [id])).map(({ provider }) => provider)

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
})
