import type { AdapterUser } from "@auth/core/adapters"
import { authenticator, describeAdapter, failure, inAnHour } from "@authwire/test-support/processes/adapter.js"
import { describe, expect, test } from "@jest/globals"

describeAdapter("users", (on) => {
  describe("createUser", () => {
    test("stores the given id and every property exactly", async () => {
      const extra = {
        role: "admin",
        level: 3.25,
        minusZero: -0,
        big: Number.MAX_SAFE_INTEGER,
        active: false,
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
      expect(await on.adapter.createUser(user)).toEqual(user)
      expect(await on.adapter.getUser(user.id)).toEqual(user)
      const [row] = await on.rows("SELECT id, email, name, image, extra FROM users WHERE id = ?", [user.id])
      expect(row).toMatchObject({ id: user.id, email: user.email, name: user.name, image: user.image })
      expect(JSON.parse(String(row?.extra))).toEqual(extra)
    })

    test("creates a UUID if no id is given", async () => {
      const { id } = await on.adapter.createUser({ email: "no-id@example.com", emailVerified: null } as AdapterUser)
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      expect(await on.count("users", "id = ?", [id])).toBe(1)
    })

    test("distinguishes null from absent", async () => {
      const absent = await on.newUser()
      expect(Object.keys((await on.adapter.getUser(absent.id)) ?? {}).sort()).toEqual(["email", "emailVerified", "id"])
      const nulls = await on.newUser({ name: null, image: null, email: null as unknown as string })
      expect(await on.adapter.getUser(nulls.id)).toStrictEqual({
        id: nulls.id,
        email: null,
        emailVerified: null,
        name: null,
        image: null,
      })
    })

    test("lets many users have no e-mail address", async () => {
      const before = await on.count("users", "email_key IS NULL")
      await Promise.all(
        [undefined, null, undefined, null].map((email) => on.newUser({ email: email as unknown as string })),
      )
      expect(await on.count("users", "email_key IS NULL")).toBe(before + 4)
    })

    test("rejects a taken id and a taken e-mail address", async () => {
      const user = await on.newUser({ email: "taken@example.com" })
      await expect(on.newUser({ id: user.id })).rejects.toEqual(failure("ALREADY_EXISTS", "USER_ALREADY_EXISTS"))
      await expect(on.newUser({ email: " TAKEN@example.com" })).rejects.toEqual(
        failure("ALREADY_EXISTS", "EMAIL_ALREADY_EXISTS"),
      )
      expect(await on.count("users", "email_key = ?", ["taken@example.com"])).toBe(1)
    })
  })

  test("getUser, getUserByEmail and getUserByAccount return null if there is no such user", async () => {
    expect(await on.adapter.getUser("nobody")).toBeNull()
    expect(await on.adapter.getUserByEmail("nobody@example.com")).toBeNull()
    expect(await on.adapter.getUserByAccount({ provider: "none", providerAccountId: "none" })).toBeNull()
  })

  test("getUserByEmail finds an address in any ASCII case, and returns it as it was given", async () => {
    const user = await on.newUser({ email: "Grace.Hopper@Example.com" })
    expect(await on.adapter.getUserByEmail("grace.hopper@EXAMPLE.com")).toEqual(user)
    expect(user.email).toBe("Grace.Hopper@Example.com")
  })

  describe("updateUser", () => {
    test("keeps absent and undefined properties, clears null properties, merges the rest", async () => {
      const user = await on.newUser({
        name: "Before",
        image: "https://example.com/1.png",
        role: "user",
        plan: { seats: 1 },
      })
      const emailVerified = new Date("2025-06-07T08:09:10.111Z")
      const updated = await on.adapter.updateUser({
        id: user.id,
        name: undefined as unknown as null,
        image: null,
        emailVerified,
        role: "admin",
      } as Partial<AdapterUser> & { id: string })
      const expected = { ...user, image: null, emailVerified, role: "admin" }
      expect(updated).toEqual(expected)
      expect(await on.adapter.getUser(user.id)).toEqual(expected)
      const [row] = await on.rows("SELECT name, image, extra FROM users WHERE id = ?", [user.id])
      expect(row).toMatchObject({ name: "Before", image: null })
      expect(JSON.parse(String(row?.extra))).toMatchObject({ role: "admin", plan: { seats: 1 } })
    })

    test("sets a property again that was cleared", async () => {
      const user = await on.newUser({ name: null })
      expect(await on.adapter.updateUser({ id: user.id, name: "Now" })).toEqual({ ...user, name: "Now" })
      expect(await on.adapter.updateUser({ id: user.id, emailVerified: null })).toEqual({ ...user, name: "Now" })
    })

    test("throws for an unknown user and for a taken address", async () => {
      const user = await on.newUser()
      await on.newUser({ email: "other@example.com" })
      await expect(on.adapter.updateUser({ id: "nobody", name: "x" })).rejects.toEqual(
        failure("NOT_FOUND", "USER_NOT_FOUND"),
      )
      await expect(on.adapter.updateUser({ id: user.id, email: "Other@example.com" })).rejects.toEqual(
        failure("ALREADY_EXISTS", "EMAIL_ALREADY_EXISTS"),
      )
      expect(await on.adapter.getUser(user.id)).toEqual(user)
    })
  })

  test("deleteUser removes accounts, sessions and authenticators with the user", async () => {
    const user = await on.newUser()
    await on.adapter.linkAccount({ userId: user.id, type: "oidc", provider: "p", providerAccountId: user.id })
    await on.adapter.createSession({ sessionToken: crypto.randomUUID(), userId: user.id, expires: inAnHour() })
    await on.adapter.createAuthenticator(authenticator(user.id))
    expect(await on.adapter.deleteUser(user.id)).toEqual(user)
    for (const table of ["accounts", "sessions", "authenticators"]) {
      expect(await on.count(table, "user_id = ?", [user.id])).toBe(0)
    }
    expect(await on.count("users", "id = ?", [user.id])).toBe(0)
    expect(await on.adapter.deleteUser(user.id)).toBeNull()
  })
})
