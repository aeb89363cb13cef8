import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { authenticator, inAnHour } from "@authwire/test-support/processes/adapter.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { describe, expect, test } from "@jest/globals"
import { failureOf } from "../transports/world.js"

// What the service knows beyond the contract of Auth.js: typed clients see it, and the objects of the adapter do not have it.
describe("beyond the contract", () => {
  const authwire = useAuthwire(serviceDatabase())

  const newUser = () => {
    const id = crypto.randomUUID()
    return authwire.adapter.createUser({ id, email: `${id}@example.com`, emailVerified: null })
  }
  test("a passkey has a name and the time of its last use", async () => {
    const { authenticators } = authwire.client
    const user = await newUser()
    const given = authenticator(user.id)
    await authwire.adapter.createAuthenticator(given)
    const { credentialID: credentialId } = given
    const list = async () => {
      const listed = []
      for await (const one of authenticators.list({ userId: user.id, pageSize: 1 })) listed.push(one)
      return listed
    }
    expect((await list())[0]?.lastUsedTime).toBeUndefined()
    await authwire.adapter.updateAuthenticatorCounter(credentialId, 1)
    const renamed = await authenticators.updateAuthenticator({ credentialId, displayName: "Laptop", userId: user.id })
    expect(renamed.authenticator).toMatchObject({
      credentialId,
      displayName: "Laptop",
      lastUsedTime: expect.anything(),
    })
    const [passkey, ...others] = await list()
    expect(others).toEqual([])
    expect(passkey).toMatchObject({ displayName: "Laptop", createTime: expect.anything(), counter: 1 })
    expect(passkey?.lastUsedTime?.seconds).toBeGreaterThanOrEqual(passkey?.createTime?.seconds as bigint)
    const used = { ...given, counter: 1 }
    expect(await authwire.adapter.listAuthenticatorsByUserId(user.id)).toStrictEqual([used])
    expect(await authwire.adapter.getAuthenticator(credentialId)).toStrictEqual(used)
  })

  test("a user has an etag, with which a second editor does not overwrite the first", async () => {
    const { users, sessions } = authwire.client
    const user = await newUser()
    const { id } = user
    const read = (await users.getUser({ id })).user
    expect(read?.etag).toMatch(/^[\w-]{22}$/)
    expect((await users.listUsers({ email: user.email })).users[0]?.etag).toBe(read?.etag)
    expect(await authwire.adapter.getUser(id)).toStrictEqual(user)
    const rename = (name: string, headers = {}) =>
      users.updateUser({ id, name, updateMask: { paths: ["name"] }, etag: read?.etag as string }, { headers })
    const headers = { "idempotency-key": crypto.randomUUID() }
    const first = await rename("first", headers)
    expect(first.user?.etag).not.toBe(read?.etag)
    expect(await failureOf(rename("second"))).toMatchObject({ code: "Aborted", infos: [{ reason: "STALE_ETAG" }] })
    // A repetition of the first call is no other editor.
    expect(await rename("first", headers)).toEqual(first)

    const sessionToken = crypto.randomUUID()
    await authwire.adapter.createSession({ sessionToken, userId: id, expires: inAnHour() })
    expect((await sessions.getSessionAndUser({ sessionToken })).user?.etag).toBeUndefined()
  })
})
