import type { AdapterAccount } from "@auth/core/adapters"
import { authenticator, describeAdapter, failure, inAnHour } from "@authwire/test-support/processes/adapter.js"
import { tokenHash } from "@authwire/test-support/processes/authwire.js"
import { expect, test } from "@jest/globals"

// Each method once through client, service and database. The suite in store/conformance tests the rules of each write,
// and client/src/adapter/adapter.test.ts every answer of the service.

/** How encrypted values are stored in the database. */
const sealed = expect.stringMatching(/^sealed\.1\.[\w-]{8}\.[\w-]{38,}$/)

describeAdapter("every method", (on) => {
  test("users: every property is kept exactly, updated, and removed with everything of the user", async () => {
    const extra = {
      role: "admin",
      minusZero: -0,
      big: Number.MAX_SAFE_INTEGER,
      nothing: null,
      "key with spaces, and ümlaut": "✓",
      nested: { list: [1, "two", null, { three: [true] }], empty: {}, none: [] },
    }
    const user = {
      id: crypto.randomUUID(),
      email: "Zoë.Ünïcode@Example.COM",
      emailVerified: new Date("2024-02-29T23:59:59.987Z"),
      name: "Ada 🦊 Lovelace",
      image: `data:image/png;base64,${"A".repeat(100_000)}`,
      ...extra,
    }
    const { id } = user
    expect(await on.adapter.createUser(user)).toEqual(user)
    expect(await on.adapter.getUser(id)).toEqual(user)
    expect(await on.adapter.getUserByEmail("zoë.Ünïcode@EXAMPLE.com")).toEqual(user)
    const [row] = await on.rows("SELECT email, name, image, extra FROM users WHERE id = ?", [id])
    expect(row).toMatchObject({ email: user.email, name: user.name, image: user.image })
    expect(JSON.parse(String(row?.extra))).toEqual(extra)

    const emailVerified = new Date("2025-06-07T08:09:10.111Z")
    const change = { id, name: undefined as unknown as null, image: null, emailVerified, role: "owner" }
    const updated = { ...user, image: null, emailVerified, role: "owner" }
    expect(await on.adapter.updateUser(change)).toEqual(updated)
    expect(await on.adapter.getUser(id)).toEqual(updated)

    await on.adapter.linkAccount({ userId: id, type: "oidc", provider: "p", providerAccountId: id })
    expect(await on.adapter.getUserByAccount({ provider: "p", providerAccountId: id })).toEqual(updated)
    await on.adapter.createSession({ sessionToken: crypto.randomUUID(), userId: id, expires: inAnHour() })
    await on.adapter.createAuthenticator(authenticator(id))
    expect(await on.adapter.deleteUser(id)).toEqual(updated)
    for (const table of ["accounts", "sessions", "authenticators"])
      expect(await on.count(table, "user_id = ?", [id])).toBe(0)
    expect(await on.adapter.deleteUser(id)).toBeNull()
  })

  test("users: an id is created if none is given, and null is not absent", async () => {
    const { id } = await on.newUser({ id: undefined as never })
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(Object.keys((await on.adapter.getUser(id)) ?? {}).sort()).toEqual(["email", "emailVerified", "id"])
    const nulls = { name: null, image: null, email: null as unknown as string, emailVerified: null }
    const { id: other } = await on.newUser(nulls)
    expect(await on.adapter.getUser(other)).toStrictEqual({ id: other, ...nulls })
    expect(await on.adapter.updateUser({ id: other, name: "Now" })).toEqual({ id: other, ...nulls, name: "Now" })
  })

  test("an error has method, code and reason, and no data of the request", async () => {
    const user = await on.newUser({ email: "private@example.com" })
    const error = await on.newUser({ id: user.id, email: " PRIVATE@example.com" }).catch((caught: unknown) => caught)
    expect(error).toEqual(failure("ALREADY_EXISTS", "USER_ALREADY_EXISTS"))
    expect(String(error)).toContain("createUser")
    expect(`${error} ${JSON.stringify(error)}`).not.toMatch(new RegExp(`private@example.com|${user.id}`, "i"))
  })

  test("accounts: every field is kept, with tokens of 64 KiB, which the database holds encrypted", async () => {
    const [user, other] = [await on.newUser(), await on.newUser()]
    const key = { provider: "example", providerAccountId: crypto.randomUUID() }
    const given: AdapterAccount = {
      ...key,
      userId: user.id,
      type: "oidc",
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
    expect(row).toMatchObject({ user_id: user.id, access_token: sealed, id_token: sealed, refresh_token: sealed })
    expect(row).toMatchObject({ token_type: "bearer", expires_in: 3599, expires_at: 1_893_456_000 })
    expect(JSON.parse(String(row?.extra))).toEqual(sealed)

    const again = { ...key, userId: user.id, type: "oidc" as const, access_token: "second" }
    const { refresh_token, session_state } = given
    expect(await on.adapter.linkAccount(again)).toEqual({
      ...again,
      refresh_token,
      session_state,
      "not-before-policy": 0,
    })
    await expect(on.adapter.linkAccount({ ...again, userId: other.id })).rejects.toEqual(
      failure("ALREADY_EXISTS", "ACCOUNT_LINKED_TO_ANOTHER_USER"),
    )
    expect(await on.adapter.unlinkAccount(key)).toMatchObject({ ...key, access_token: "second" })
    expect(await on.adapter.unlinkAccount(key)).toBeUndefined()
    expect(await on.adapter.getAccount(key.providerAccountId, key.provider)).toBeNull()
    expect(await on.adapter.getUserByAccount(key)).toBeNull()
  })

  test("sessions: the expiry is kept to the millisecond, and the database has only the hash of the token", async () => {
    const user = await on.newUser({ role: "admin" })
    const { sessionToken, ...given } = {
      sessionToken: crypto.randomUUID(),
      userId: user.id,
      expires: inAnHour(),
      device: { os: "x" },
    }
    expect(await on.adapter.createSession({ sessionToken, ...given })).toEqual({ sessionToken, ...given })
    expect(await on.adapter.getSessionAndUser(sessionToken)).toEqual({ session: { sessionToken, ...given }, user })
    const rows = await on.rows("SELECT * FROM sessions WHERE user_id = ?", [user.id])
    expect(rows).toMatchObject([{ token_hash: tokenHash(sessionToken) }])
    expect(JSON.stringify(rows)).not.toContain(sessionToken)
    const change = { sessionToken, expires: new Date("2031-01-02T03:04:05.006Z"), place: "b" }
    expect(await on.adapter.updateSession(change)).toEqual({ ...given, ...change })
    expect(await on.adapter.deleteSession(sessionToken)).toEqual({ ...given, ...change })
    expect(await on.adapter.deleteSession(sessionToken)).toBeNull()
    expect(await on.adapter.updateSession(change)).toBeNull()
    await on.adapter.createSession({ sessionToken, ...given, expires: new Date(Date.now() - 1) })
    expect(await on.adapter.getSessionAndUser(sessionToken)).toBeNull()
    expect(await on.count("sessions", "user_id = ?", [user.id])).toBe(0)
  })

  test("a cookie of another kind and any length returns null, not an error", async () => {
    expect(await on.adapter.getSessionAndUser("x".repeat(12_000))).toBeNull()
  })

  test("verification tokens are used once, and only with both identifier and token, also expired ones", async () => {
    for (const expires of [inAnHour(), new Date("2020-01-01T00:00:00.001Z")]) {
      const given = { identifier: "Ada@example.com", token: crypto.randomUUID(), expires }
      expect(await on.adapter.createVerificationToken(given)).toEqual(given)
      const rows = await on.rows("SELECT * FROM verification_tokens WHERE identifier = ?", [given.identifier])
      expect(rows).toMatchObject([{ tenant: "default", token_hash: tokenHash(given.token) }])
      expect(JSON.stringify(rows)).not.toContain(given.token)
      for (const lost of [undefined, null, "", "ada@example.com"]) {
        expect(await on.adapter.useVerificationToken({ ...given, identifier: lost as string })).toBeNull()
        expect(await on.adapter.useVerificationToken({ ...given, token: lost as string })).toBeNull()
      }
      expect(await on.adapter.useVerificationToken(given)).toEqual(given)
      expect(await on.adapter.useVerificationToken(given)).toBeNull()
    }
  })

  test("authenticators: every field is kept, and the counter never falls", async () => {
    const user = await on.newUser()
    const { transports: _, ...absent } = authenticator(user.id)
    const largest = { ...authenticator(user.id), counter: 4_294_967_295, credentialBackedUp: true }
    const given = [absent, { ...authenticator(user.id), transports: null }, largest]
    for (const one of given) expect(await on.adapter.createAuthenticator(one)).toStrictEqual(one)
    const listed = await on.adapter.listAuthenticatorsByUserId(user.id)
    expect(listed).toStrictEqual(given.toSorted((a, b) => (a.credentialID < b.credentialID ? -1 : 1)))
    expect(await on.adapter.getAuthenticator(largest.credentialID)).toEqual(largest)
    for (const counter of [7, 7])
      expect(await on.adapter.updateAuthenticatorCounter(absent.credentialID, counter)).toStrictEqual({
        ...absent,
        counter,
      })
    await expect(on.adapter.updateAuthenticatorCounter(absent.credentialID, 6)).rejects.toEqual(
      failure("FAILED_PRECONDITION", "COUNTER_REGRESSION"),
    )
    expect(await on.adapter.getAuthenticator("none")).toBeNull()
    expect(await on.adapter.listAuthenticatorsByUserId("nobody")).toEqual([])
  })
})
