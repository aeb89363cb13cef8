import { authenticator, describeAdapter, failure } from "@authwire/test-support/processes/adapter.js"
import { expect, test } from "@jest/globals"

describeAdapter("authenticators", (on) => {
  test("createAuthenticator keeps every field", async () => {
    const user = await on.newUser()
    const given = { ...authenticator(user.id), counter: 4_294_967_295, credentialBackedUp: true }
    expect(await on.adapter.createAuthenticator(given)).toEqual(given)
    expect(await on.adapter.getAuthenticator(given.credentialID)).toEqual(given)
    const [row] = await on.rows("SELECT * FROM authenticators WHERE credential_id = ?", [given.credentialID])
    expect(row).toMatchObject({ user_id: user.id, counter: 4_294_967_295 })
    // 1, or true on databases with a Boolean type.
    expect(Number(row?.credential_backed_up)).toBe(1)
  })

  test("transports may be null, absent or given", async () => {
    const user = await on.newUser()
    const { transports: _, ...absent } = authenticator(user.id)
    const given = [absent, { ...authenticator(user.id), transports: null }, authenticator(user.id)]
    for (const one of given) await on.adapter.createAuthenticator(one)
    const listed = await on.adapter.listAuthenticatorsByUserId(user.id)
    expect(listed).toStrictEqual(given.toSorted((a, b) => (a.credentialID < b.credentialID ? -1 : 1)))
  })

  test("a taken credential id and an unknown user are rejected", async () => {
    const user = await on.newUser()
    const given = await on.adapter.createAuthenticator(authenticator(user.id))
    await expect(on.adapter.createAuthenticator(given)).rejects.toEqual(
      failure("ALREADY_EXISTS", "AUTHENTICATOR_ALREADY_EXISTS"),
    )
    await expect(on.adapter.createAuthenticator(authenticator("nobody"))).rejects.toEqual(
      failure("NOT_FOUND", "USER_NOT_FOUND"),
    )
  })

  test("getAuthenticator returns null and listAuthenticatorsByUserId an empty list if nothing is found", async () => {
    expect(await on.adapter.getAuthenticator("none")).toBeNull()
    expect(await on.adapter.listAuthenticatorsByUserId("nobody")).toEqual([])
  })

  test("updateAuthenticatorCounter raises the counter, can be repeated, and never lowers it", async () => {
    const user = await on.newUser()
    const { credentialID } = await on.adapter.createAuthenticator({ ...authenticator(user.id), counter: 5 })
    expect((await on.adapter.updateAuthenticatorCounter(credentialID, 7)).counter).toBe(7)
    expect((await on.adapter.updateAuthenticatorCounter(credentialID, 7)).counter).toBe(7)
    await expect(on.adapter.updateAuthenticatorCounter(credentialID, 6)).rejects.toEqual(
      failure("FAILED_PRECONDITION", "COUNTER_REGRESSION"),
    )
    await expect(on.adapter.updateAuthenticatorCounter("none", 1)).rejects.toEqual(
      failure("NOT_FOUND", "AUTHENTICATOR_NOT_FOUND"),
    )
    const [row] = await on.rows("SELECT counter FROM authenticators WHERE credential_id = ?", [credentialID])
    expect(row).toEqual({ counter: 7 })
  })
})
