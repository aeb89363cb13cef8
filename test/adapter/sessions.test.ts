import { describeAdapter, failure, inAnHour } from "@authwire/test-support/processes/adapter.js"
import { tokenHash } from "@authwire/test-support/processes/authwire.js"
import { expect, test } from "@jest/globals"

describeAdapter("sessions", (on) => {
  test("createSession stores the expiry to the millisecond and unknown properties; the database has only the hash", async () => {
    const user = await on.newUser({ role: "admin" })
    const given = { sessionToken: crypto.randomUUID(), userId: user.id, expires: inAnHour(), device: { os: "x" } }
    expect(await on.adapter.createSession(given)).toEqual(given)
    expect(await on.adapter.getSessionAndUser(given.sessionToken)).toEqual({ session: given, user })
    const rows = await on.rows("SELECT * FROM sessions WHERE user_id = ?", [user.id])
    expect(rows).toHaveLength(1)
    expect(rows[0]).toMatchObject({ token_hash: tokenHash(given.sessionToken), user_id: user.id })
    expect(JSON.stringify(rows)).not.toContain(given.sessionToken)
  })

  test("a taken token and an unknown user are rejected", async () => {
    const user = await on.newUser()
    const given = { sessionToken: crypto.randomUUID(), userId: user.id, expires: inAnHour() }
    await on.adapter.createSession(given)
    await expect(on.adapter.createSession(given)).rejects.toEqual(failure("ALREADY_EXISTS", "SESSION_ALREADY_EXISTS"))
    await expect(on.adapter.createSession({ ...given, sessionToken: "other", userId: "nobody" })).rejects.toEqual(
      failure("NOT_FOUND", "USER_NOT_FOUND"),
    )
    expect(await on.count("sessions", "user_id = ?", [user.id])).toBe(1)
  })

  test("an expired session is null, and its row is deleted", async () => {
    const user = await on.newUser()
    const given = { sessionToken: crypto.randomUUID(), userId: user.id, expires: new Date(Date.now() - 1) }
    await on.adapter.createSession(given)
    expect(await on.count("sessions", "user_id = ?", [user.id])).toBe(1)
    expect(await on.adapter.getSessionAndUser(given.sessionToken)).toBeNull()
    expect(await on.count("sessions", "user_id = ?", [user.id])).toBe(0)
    expect(await on.adapter.updateSession({ ...given, expires: inAnHour() })).toBeNull()
  })

  test("updateSession changes the given properties; without such a session it returns null", async () => {
    const user = await on.newUser()
    const given = { sessionToken: crypto.randomUUID(), userId: user.id, expires: inAnHour(), device: "a" }
    await on.adapter.createSession(given)
    const expires = new Date("2031-01-02T03:04:05.006Z")
    const expected = { ...given, expires, place: "b" }
    const change = { sessionToken: given.sessionToken, expires, place: "b" }
    expect(await on.adapter.updateSession(change)).toEqual(expected)
    expect((await on.adapter.getSessionAndUser(given.sessionToken))?.session).toEqual(expected)
    expect(await on.adapter.updateSession({ sessionToken: "none", expires })).toBeNull()
    expect(await on.count("sessions", "user_id = ?", [user.id])).toBe(1)
  })

  test("deleteSession returns the session and removes it; repeated, it returns null", async () => {
    const user = await on.newUser()
    const given = { sessionToken: crypto.randomUUID(), userId: user.id, expires: inAnHour() }
    await on.adapter.createSession(given)
    expect(await on.adapter.deleteSession(given.sessionToken)).toEqual(given)
    expect(await on.count("sessions", "user_id = ?", [user.id])).toBe(0)
    expect(await on.adapter.deleteSession(given.sessionToken)).toBeNull()
    expect(await on.adapter.getSessionAndUser(given.sessionToken)).toBeNull()
  })

  test("a cookie of another kind and any length returns null, not an error", async () => {
    expect(await on.adapter.getSessionAndUser("x".repeat(12_000))).toBeNull()
  })
})
