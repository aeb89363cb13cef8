import type { AdapterAccount } from "@auth/core/adapters"
import { describeAdapter, failure } from "@authwire/test-support/processes/adapter.js"
import { expect, test } from "@jest/globals"

/** How encrypted values are stored in the database. */
const sealed = expect.stringMatching(/^sealed\.1\.[\w-]{8}\.[\w-]{38,}$/)

describeAdapter("accounts", (on) => {
  const account = (userId: string): AdapterAccount => ({
    userId,
    type: "oidc",
    provider: "example",
    providerAccountId: crypto.randomUUID(),
  })

  test("linkAccount keeps every field, 64 KiB tokens and unknown properties", async () => {
    const user = await on.newUser()
    const given = {
      ...account(user.id),
      access_token: "a".repeat(65_536),
      id_token: "i".repeat(65_536),
      refresh_token: "é".repeat(32_768),
      token_type: "Bearer" as Lowercase<string>,
      scope: "openid profile",
      expires_in: 3599,
      expires_at: 1_893_456_000,
      authorization_details: [{ type: "payment", limits: [1, 2.5] }],
      session_state: "abc",
      "not-before-policy": 0,
    }
    const expected = { ...given, token_type: "bearer" }
    expect(await on.adapter.linkAccount(given)).toEqual(expected)
    expect(await on.adapter.getAccount(given.providerAccountId, given.provider)).toEqual(expected)
    const [row] = await on.rows("SELECT * FROM accounts WHERE provider_account_id = ?", [given.providerAccountId])
    expect(row).toMatchObject({
      user_id: user.id,
      type: "oidc",
      provider: "example",
      access_token: sealed,
      id_token: sealed,
      refresh_token: sealed,
      token_type: "bearer",
      scope: "openid profile",
      expires_in: 3599,
      expires_at: 1_893_456_000,
    })
    expect(JSON.parse(String(row?.extra))).toEqual(sealed)
  })

  test("getUserByAccount finds the user", async () => {
    const user = await on.newUser({ role: "owner" })
    const given = account(user.id)
    await on.adapter.linkAccount(given)
    expect(await on.adapter.getUserByAccount(given)).toEqual(user)
  })

  test("linking again updates the tokens; linking to another user is rejected", async () => {
    const [user, other] = [await on.newUser(), await on.newUser()]
    const given = { ...account(user.id), access_token: "first", refresh_token: "kept", session_state: "1" }
    await on.adapter.linkAccount(given)
    await on.adapter.linkAccount({ ...account(user.id), ...pick(given), access_token: "second", session_state: "2" })
    const expected = { ...given, access_token: "second", session_state: "2" }
    expect(await on.adapter.getAccount(given.providerAccountId, given.provider)).toEqual(expected)
    await expect(on.adapter.linkAccount({ ...given, userId: other.id, access_token: "stolen" })).rejects.toEqual(
      failure("ALREADY_EXISTS", "ACCOUNT_LINKED_TO_ANOTHER_USER"),
    )
    const rows = await on.rows("SELECT user_id FROM accounts WHERE provider_account_id = ?", [given.providerAccountId])
    expect(rows).toEqual([{ user_id: user.id }])
    expect(await on.adapter.getAccount(given.providerAccountId, given.provider)).toEqual(expected)
  })

  test("linking to an unknown user throws and leaves nothing", async () => {
    const given = account("nobody")
    await expect(on.adapter.linkAccount(given)).rejects.toEqual(failure("NOT_FOUND", "USER_NOT_FOUND"))
    expect(await on.count("accounts", "provider_account_id = ?", [given.providerAccountId])).toBe(0)
  })

  test("unlinkAccount removes the account, and succeeds if there is none; getAccount then returns null", async () => {
    const user = await on.newUser()
    const given = account(user.id)
    await on.adapter.linkAccount(given)
    await on.adapter.unlinkAccount(given)
    expect(await on.count("accounts", "provider_account_id = ?", [given.providerAccountId])).toBe(0)
    expect(await on.adapter.unlinkAccount(given)).toBeUndefined()
    expect(await on.adapter.getAccount(given.providerAccountId, given.provider)).toBeNull()
    expect(await on.adapter.getUserByAccount(given)).toBeNull()
  })

  const pick = ({ provider, providerAccountId }: AdapterAccount) => ({ provider, providerAccountId })
})
