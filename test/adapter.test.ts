import type { AdapterAccount, AdapterAuthenticator, AdapterUser } from "@auth/core/adapters"
import { AuthwireError } from "@authwire/client"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

import { type Authwire, startAuthwire, tokenHash } from "./support/authwire.js"
import { databaseTargets } from "./support/databases.js"

const inAnHour = () => new Date(Date.now() + 3_600_123)
const failure = (code: string, reason: string) => expect.objectContaining({ name: "AuthwireError", code, reason })

// Every method of the contract, over a real socket; every write is looked up in the database itself.
/** What is sealed in the database. */
const sealed = expect.stringMatching(/^sealed\.1\.[\w-]{8}\.[\w-]{38,}$/)

describe.each(databaseTargets())("AuthwireAdapter on %s", (target) => {
  let authwire: Authwire
  let adapter: Authwire["adapter"]
  const count = async (table: string, where = "1 = 1", params: unknown[] = []) =>
    Number((await authwire.rows(`SELECT COUNT(*) AS n FROM ${table} WHERE ${where}`, params))[0]?.n)

  beforeAll(async () => {
    authwire = await startAuthwire(target)
    adapter = authwire.adapter
  })
  afterAll(() => authwire.close())

  const newUser = (properties: Partial<AdapterUser> & Record<string, unknown> = {}) =>
    adapter.createUser({
      id: crypto.randomUUID(),
      email: `${crypto.randomUUID()}@example.com`,
      emailVerified: null,
      ...properties,
    })

  describe("createUser", () => {
    test("keeps the id that it is given, and every property, exactly", async () => {
      const user = {
        id: crypto.randomUUID(),
        email: "Zoë.Ünïcode@Example.COM",
        emailVerified: new Date("2024-02-29T23:59:59.987Z"),
        name: "Ada 🦊 Lovelace",
        image: `data:image/png;base64,${"A".repeat(100_000)}`,
        role: "admin",
        level: 3.25,
        minusZero: -0,
        big: Number.MAX_SAFE_INTEGER,
        active: false,
        nothing: null,
        "key with spaces, and ümlaut": "✓",
        nested: { list: [1, "two", null, { three: [true] }], empty: {}, none: [] },
      }
      expect(await adapter.createUser(user)).toEqual(user)
      expect(await adapter.getUser(user.id)).toEqual(user)
      const [row] = await authwire.rows("SELECT id, email, name, image, extra FROM users WHERE id = ?", [user.id])
      expect(row).toMatchObject({ id: user.id, email: user.email, name: user.name, image: user.image })
      expect(JSON.parse(String(row?.extra))).toEqual({
        role: "admin",
        level: 3.25,
        minusZero: -0,
        big: Number.MAX_SAFE_INTEGER,
        active: false,
        nothing: null,
        "key with spaces, and ümlaut": "✓",
        nested: user.nested,
      })
    })

    test("makes a UUID where no id is given", async () => {
      const { id } = await adapter.createUser({ email: "no-id@example.com", emailVerified: null } as AdapterUser)
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      expect(await count("users", "id = ?", [id])).toBe(1)
    })

    test("tells null from absent", async () => {
      const absent = await newUser()
      expect(Object.keys((await adapter.getUser(absent.id)) ?? {}).sort()).toEqual(["email", "emailVerified", "id"])
      const nulls = await newUser({ name: null, image: null, email: null as unknown as string })
      expect(await adapter.getUser(nulls.id)).toStrictEqual({
        id: nulls.id,
        email: null,
        emailVerified: null,
        name: null,
        image: null,
      })
    })

    test("lets many users have no e-mail address", async () => {
      const before = await count("users", "email_key IS NULL")
      await Promise.all(
        [undefined, null, undefined, null].map((email) => newUser({ email: email as unknown as string })),
      )
      expect(await count("users", "email_key IS NULL")).toBe(before + 4)
    })

    test("refuses an id and an e-mail address that are taken", async () => {
      const user = await newUser({ email: "taken@example.com" })
      await expect(newUser({ id: user.id })).rejects.toEqual(failure("ALREADY_EXISTS", "USER_ALREADY_EXISTS"))
      await expect(newUser({ email: " TAKEN@example.com" })).rejects.toEqual(
        failure("ALREADY_EXISTS", "EMAIL_ALREADY_EXISTS"),
      )
      expect(await count("users", "email_key = ?", ["taken@example.com"])).toBe(1)
    })
  })

  test("getUser, getUserByEmail and getUserByAccount return null for whom there is not", async () => {
    expect(await adapter.getUser("nobody")).toBeNull()
    expect(await adapter.getUserByEmail("nobody@example.com")).toBeNull()
    expect(await adapter.getUserByAccount({ provider: "none", providerAccountId: "none" })).toBeNull()
  })

  test("getUserByEmail finds an address in any ASCII case, and returns it as it was given", async () => {
    const user = await newUser({ email: "Grace.Hopper@Example.com" })
    expect(await adapter.getUserByEmail("grace.hopper@EXAMPLE.com")).toEqual(user)
    expect(user.email).toBe("Grace.Hopper@Example.com")
  })

  describe("updateUser", () => {
    test("leaves alone what is absent or undefined, clears what is null, merges the rest", async () => {
      const user = await newUser({
        name: "Before",
        image: "https://example.com/1.png",
        role: "user",
        plan: { seats: 1 },
      })
      const emailVerified = new Date("2025-06-07T08:09:10.111Z")
      const updated = await adapter.updateUser({
        id: user.id,
        name: undefined as unknown as null,
        image: null,
        emailVerified,
        role: "admin",
      } as Partial<AdapterUser> & { id: string })
      const expected = { ...user, image: null, emailVerified, role: "admin" }
      expect(updated).toEqual(expected)
      expect(await adapter.getUser(user.id)).toEqual(expected)
      const [row] = await authwire.rows("SELECT name, image, extra FROM users WHERE id = ?", [user.id])
      expect(row).toMatchObject({ name: "Before", image: null })
      expect(JSON.parse(String(row?.extra))).toMatchObject({ role: "admin", plan: { seats: 1 } })
    })

    test("sets again what was cleared", async () => {
      const user = await newUser({ name: null })
      expect(await adapter.updateUser({ id: user.id, name: "Now" })).toEqual({ ...user, name: "Now" })
      expect(await adapter.updateUser({ id: user.id, emailVerified: null })).toEqual({ ...user, name: "Now" })
    })

    test("throws for an unknown user and for an address that is taken", async () => {
      const user = await newUser()
      await newUser({ email: "other@example.com" })
      await expect(adapter.updateUser({ id: "nobody", name: "x" })).rejects.toEqual(
        failure("NOT_FOUND", "USER_NOT_FOUND"),
      )
      await expect(adapter.updateUser({ id: user.id, email: "Other@example.com" })).rejects.toEqual(
        failure("ALREADY_EXISTS", "EMAIL_ALREADY_EXISTS"),
      )
      expect(await adapter.getUser(user.id)).toEqual(user)
    })
  })

  test("deleteUser removes accounts, sessions and authenticators with the user", async () => {
    const user = await newUser()
    await adapter.linkAccount({ userId: user.id, type: "oidc", provider: "p", providerAccountId: user.id })
    await adapter.createSession({ sessionToken: crypto.randomUUID(), userId: user.id, expires: inAnHour() })
    await adapter.createAuthenticator(authenticator(user.id))
    expect(await adapter.deleteUser(user.id)).toEqual(user)
    for (const table of ["accounts", "sessions", "authenticators"]) {
      expect(await count(table, "user_id = ?", [user.id])).toBe(0)
    }
    expect(await count("users", "id = ?", [user.id])).toBe(0)
    expect(await adapter.deleteUser(user.id)).toBeNull()
  })

  describe("accounts", () => {
    const account = (userId: string): AdapterAccount => ({
      userId,
      type: "oidc",
      provider: "example",
      providerAccountId: crypto.randomUUID(),
    })

    test("linkAccount keeps every field, 64 KiB tokens and unknown properties", async () => {
      const user = await newUser()
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
      expect(await adapter.linkAccount(given)).toEqual(expected)
      expect(await adapter.getAccount(given.providerAccountId, given.provider)).toEqual(expected)
      const [row] = await authwire.rows("SELECT * FROM accounts WHERE provider_account_id = ?", [
        given.providerAccountId,
      ])
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
      const user = await newUser({ role: "owner" })
      const given = account(user.id)
      await adapter.linkAccount(given)
      expect(await adapter.getUserByAccount(given)).toEqual(user)
    })

    test("linking again updates the tokens; linking to another user is refused", async () => {
      const [user, other] = [await newUser(), await newUser()]
      const given = { ...account(user.id), access_token: "first", refresh_token: "kept", session_state: "1" }
      await adapter.linkAccount(given)
      await adapter.linkAccount({ ...account(user.id), ...pick(given), access_token: "second", session_state: "2" })
      const expected = { ...given, access_token: "second", session_state: "2" }
      expect(await adapter.getAccount(given.providerAccountId, given.provider)).toEqual(expected)
      await expect(adapter.linkAccount({ ...given, userId: other.id, access_token: "stolen" })).rejects.toEqual(
        failure("ALREADY_EXISTS", "ACCOUNT_LINKED_TO_ANOTHER_USER"),
      )
      const rows = await authwire.rows("SELECT user_id FROM accounts WHERE provider_account_id = ?", [
        given.providerAccountId,
      ])
      expect(rows).toEqual([{ user_id: user.id }])
      expect(await adapter.getAccount(given.providerAccountId, given.provider)).toEqual(expected)
    })

    test("linking to an unknown user throws and leaves nothing", async () => {
      const given = account("nobody")
      await expect(adapter.linkAccount(given)).rejects.toEqual(failure("NOT_FOUND", "USER_NOT_FOUND"))
      expect(await count("accounts", "provider_account_id = ?", [given.providerAccountId])).toBe(0)
    })

    test("unlinkAccount removes it, and succeeds when there is none; getAccount is null then", async () => {
      const user = await newUser()
      const given = account(user.id)
      await adapter.linkAccount(given)
      await adapter.unlinkAccount(given)
      expect(await count("accounts", "provider_account_id = ?", [given.providerAccountId])).toBe(0)
      expect(await adapter.unlinkAccount(given)).toBeUndefined()
      expect(await adapter.getAccount(given.providerAccountId, given.provider)).toBeNull()
      expect(await adapter.getUserByAccount(given)).toBeNull()
    })

    const pick = ({ provider, providerAccountId }: AdapterAccount) => ({ provider, providerAccountId })
  })

  describe("sessions", () => {
    test("createSession keeps the expiry to the millisecond and unknown properties; the database has the hash only", async () => {
      const user = await newUser({ role: "admin" })
      const given = { sessionToken: crypto.randomUUID(), userId: user.id, expires: inAnHour(), device: { os: "x" } }
      expect(await adapter.createSession(given)).toEqual(given)
      expect(await adapter.getSessionAndUser(given.sessionToken)).toEqual({ session: given, user })
      const rows = await authwire.rows("SELECT * FROM sessions WHERE user_id = ?", [user.id])
      expect(rows).toHaveLength(1)
      expect(rows[0]).toMatchObject({ token_hash: tokenHash(given.sessionToken), user_id: user.id })
      expect(JSON.stringify(rows)).not.toContain(given.sessionToken)
    })

    test("a taken token and an unknown user are refused", async () => {
      const user = await newUser()
      const given = { sessionToken: crypto.randomUUID(), userId: user.id, expires: inAnHour() }
      await adapter.createSession(given)
      await expect(adapter.createSession(given)).rejects.toEqual(failure("ALREADY_EXISTS", "SESSION_ALREADY_EXISTS"))
      await expect(adapter.createSession({ ...given, sessionToken: "other", userId: "nobody" })).rejects.toEqual(
        failure("NOT_FOUND", "USER_NOT_FOUND"),
      )
      expect(await count("sessions", "user_id = ?", [user.id])).toBe(1)
    })

    test("an expired session is null, and its row goes", async () => {
      const user = await newUser()
      const given = { sessionToken: crypto.randomUUID(), userId: user.id, expires: new Date(Date.now() - 1) }
      await adapter.createSession(given)
      expect(await count("sessions", "user_id = ?", [user.id])).toBe(1)
      expect(await adapter.getSessionAndUser(given.sessionToken)).toBeNull()
      expect(await count("sessions", "user_id = ?", [user.id])).toBe(0)
      expect(await adapter.updateSession({ ...given, expires: inAnHour() })).toBeNull()
    })

    test("updateSession changes what it is given; without such a session it is null", async () => {
      const user = await newUser()
      const given = { sessionToken: crypto.randomUUID(), userId: user.id, expires: inAnHour(), device: "a" }
      await adapter.createSession(given)
      const expires = new Date("2031-01-02T03:04:05.006Z")
      const expected = { ...given, expires, place: "b" }
      const change = { sessionToken: given.sessionToken, expires, place: "b" }
      expect(await adapter.updateSession(change)).toEqual(expected)
      expect((await adapter.getSessionAndUser(given.sessionToken))?.session).toEqual(expected)
      expect(await adapter.updateSession({ sessionToken: "none", expires })).toBeNull()
      expect(await count("sessions", "user_id = ?", [user.id])).toBe(1)
    })

    test("deleteSession returns the session and removes it; once more, it is null", async () => {
      const user = await newUser()
      const given = { sessionToken: crypto.randomUUID(), userId: user.id, expires: inAnHour() }
      await adapter.createSession(given)
      expect(await adapter.deleteSession(given.sessionToken)).toEqual(given)
      expect(await count("sessions", "user_id = ?", [user.id])).toBe(0)
      expect(await adapter.deleteSession(given.sessionToken)).toBeNull()
      expect(await adapter.getSessionAndUser(given.sessionToken)).toBeNull()
    })

    test("a cookie of another kind, however long, is null and not an error", async () => {
      expect(await adapter.getSessionAndUser("x".repeat(12_000))).toBeNull()
    })
  })

  describe("verification tokens", () => {
    test("are used once, with both identifier and token", async () => {
      const given = { identifier: "Ada@example.com", token: crypto.randomUUID(), expires: inAnHour() }
      expect(await adapter.createVerificationToken(given)).toEqual(given)
      const rows = await authwire.rows("SELECT * FROM verification_tokens WHERE identifier = ?", [given.identifier])
      expect(rows).toMatchObject([{ tenant: "default", token_hash: tokenHash(given.token) }])
      expect(JSON.stringify(rows)).not.toContain(given.token)
      expect(await adapter.useVerificationToken({ ...given, identifier: "ada@example.com" })).toBeNull()
      expect(await adapter.useVerificationToken({ ...given, token: `${given.token}x` })).toBeNull()
      expect(await adapter.useVerificationToken(given)).toEqual(given)
      expect(await count("verification_tokens", "identifier = ?", [given.identifier])).toBe(0)
      expect(await adapter.useVerificationToken(given)).toBeNull()
    })

    test("are returned and removed also when they have expired", async () => {
      const given = {
        identifier: "a@example.com",
        token: crypto.randomUUID(),
        expires: new Date("2020-01-01T00:00:00.001Z"),
      }
      await adapter.createVerificationToken(given)
      expect(await adapter.useVerificationToken(given)).toEqual(given)
      expect(await count("verification_tokens", "identifier = ?", [given.identifier])).toBe(0)
    })

    test("are not found by a link that lost its address or token", async () => {
      for (const lost of [undefined, null, ""]) {
        const key = { identifier: lost as string, token: "t" }
        expect(await adapter.useVerificationToken(key)).toBeNull()
        expect(await adapter.useVerificationToken({ identifier: "i", token: lost as string })).toBeNull()
      }
    })

    test("are not created twice", async () => {
      const given = { identifier: "a@example.com", token: crypto.randomUUID(), expires: inAnHour() }
      await adapter.createVerificationToken(given)
      await expect(adapter.createVerificationToken(given)).rejects.toEqual(
        failure("ALREADY_EXISTS", "VERIFICATION_TOKEN_ALREADY_EXISTS"),
      )
    })
  })

  describe("authenticators", () => {
    test("createAuthenticator keeps every field", async () => {
      const user = await newUser()
      const given = { ...authenticator(user.id), counter: 4_294_967_295, credentialBackedUp: true }
      expect(await adapter.createAuthenticator(given)).toEqual(given)
      expect(await adapter.getAuthenticator(given.credentialID)).toEqual(given)
      const [row] = await authwire.rows("SELECT * FROM authenticators WHERE credential_id = ?", [given.credentialID])
      expect(row).toMatchObject({ user_id: user.id, counter: 4_294_967_295, credential_backed_up: 1 })
    })

    test("transports may be null, absent or given", async () => {
      const user = await newUser()
      const { transports: _, ...absent } = authenticator(user.id)
      const given = [absent, { ...authenticator(user.id), transports: null }, authenticator(user.id)]
      for (const one of given) await adapter.createAuthenticator(one)
      const listed = await adapter.listAuthenticatorsByUserId(user.id)
      expect(listed).toStrictEqual(given.toSorted((a, b) => (a.credentialID < b.credentialID ? -1 : 1)))
    })

    test("a taken credential id and an unknown user are refused", async () => {
      const user = await newUser()
      const given = await adapter.createAuthenticator(authenticator(user.id))
      await expect(adapter.createAuthenticator(given)).rejects.toEqual(
        failure("ALREADY_EXISTS", "AUTHENTICATOR_ALREADY_EXISTS"),
      )
      await expect(adapter.createAuthenticator(authenticator("nobody"))).rejects.toEqual(
        failure("NOT_FOUND", "USER_NOT_FOUND"),
      )
    })

    test("getAuthenticator of none is null; listAuthenticatorsByUserId of nobody is empty", async () => {
      expect(await adapter.getAuthenticator("none")).toBeNull()
      expect(await adapter.listAuthenticatorsByUserId("nobody")).toEqual([])
    })

    test("updateAuthenticatorCounter raises, repeats, and never lowers", async () => {
      const user = await newUser()
      const { credentialID } = await adapter.createAuthenticator({ ...authenticator(user.id), counter: 5 })
      expect((await adapter.updateAuthenticatorCounter(credentialID, 7)).counter).toBe(7)
      expect((await adapter.updateAuthenticatorCounter(credentialID, 7)).counter).toBe(7)
      await expect(adapter.updateAuthenticatorCounter(credentialID, 6)).rejects.toEqual(
        failure("FAILED_PRECONDITION", "COUNTER_REGRESSION"),
      )
      await expect(adapter.updateAuthenticatorCounter("none", 1)).rejects.toEqual(
        failure("NOT_FOUND", "AUTHENTICATOR_NOT_FOUND"),
      )
      const [row] = await authwire.rows("SELECT counter FROM authenticators WHERE credential_id = ?", [credentialID])
      expect(row).toEqual({ counter: 7 })
    })
  })

  test("an error names method, code and reason, and nothing of the request", async () => {
    const user = await newUser({ email: "private@example.com" })
    const error = await newUser({ id: user.id, email: "private@example.com" }).catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(AuthwireError)
    expect(String(error)).toContain("createUser")
    expect(`${String(error)} ${JSON.stringify(error)}`).not.toContain("private@example.com")
    expect(`${String(error)} ${JSON.stringify(error)}`).not.toContain(user.id)
  })
})

function authenticator(userId: string): AdapterAuthenticator {
  return {
    credentialID: Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString("base64"),
    userId,
    providerAccountId: "acct",
    credentialPublicKey: "pQECAyYgASFYIA==",
    counter: 0,
    credentialDeviceType: "multiDevice",
    credentialBackedUp: false,
    transports: "internal,hybrid",
  }
}
