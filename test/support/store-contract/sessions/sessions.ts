import { createHash } from "node:crypto"
import { describe, expect, test } from "@jest/globals"
import {
  anyone,
  type ContractContext,
  day,
  differentKeys,
  newId,
  newSession,
  newUser,
  oddExtra,
  outcomes,
  range,
} from "../context.js"

export function sessionContract(context: ContractContext): void {
  const hashOf = (sessionToken: string) => createHash("sha256").update(sessionToken).digest("hex").toUpperCase()
  const rowsOf = (sessionToken: string) =>
    context.database.sql(
      "SELECT HEX(token_hash) AS hash, user_id, expires, extra FROM sessions WHERE HEX(token_hash) = ?",
      [hashOf(sessionToken)],
    )
  const newUserId = async () => (await context.store.users.create(anyone, newUser())).id
  const created = async (expires = context.clock.now + day) =>
    context.store.sessions.create(anyone, newSession(await newUserId(), expires))

  describe("create", () => {
    test("keeps every field exactly, and the database holds it, but not the token", async () => {
      const session = newSession(await newUserId(), Date.UTC(2031, 0, 2, 3, 4, 5, 678), { extra: oddExtra })
      expect(await context.store.sessions.create(anyone, session)).toEqual({ ...session, id: expect.any(String) })
      expect(await context.other.sessions.getWithUser(anyone, session.sessionToken)).toMatchObject({ session })
      const hash = hashOf(session.sessionToken)
      const expires = Date.UTC(2031, 0, 2, 3, 4, 5, 678)
      expect(await rowsOf(session.sessionToken)).toEqual([
        { hash, user_id: session.userId, expires, extra: JSON.stringify(oddExtra) },
      ])
      const all = JSON.stringify(await context.database.sql("SELECT * FROM sessions"))
      expect(all).not.toContain(session.sessionToken)
    })

    test("distinguishes tokens of any length and with any characters", async () => {
      const userId = await newUserId()
      const unique = newId()
      const tokens = [`${unique}\u0000`, unique, `${unique}\u0000\u0000`, unique.padEnd(16_384, "t")]
      for (const sessionToken of tokens) {
        await context.store.sessions.create(anyone, newSession(userId, context.clock.now + day, { sessionToken }))
      }
      for (const sessionToken of tokens) {
        expect((await context.store.sessions.getWithUser(anyone, sessionToken))?.session).toMatchObject({
          sessionToken,
        })
      }
    })

    test.each(differentKeys)("S-25: compares tokens byte for byte: %s", async (_, one, another) => {
      const unique = newId()
      const session = newSession(await newUserId(), context.clock.now + day, { sessionToken: unique + one })
      await context.store.sessions.create(anyone, session)
      expect(await context.store.sessions.getWithUser(anyone, unique + another)).toBeNull()
      expect(await context.store.sessions.delete(anyone, unique + another)).toBeNull()
    })

    test("an expiry in the past is accepted", async () => {
      const session = await created(context.clock.now - day)
      expect(await rowsOf(session.sessionToken)).toMatchObject([{ expires: context.clock.now - day }])
    })

    test("SESSION_ALREADY_EXISTS: the token is taken", async () => {
      const session = await created()
      const again = { ...newSession(await newUserId(), 0), sessionToken: session.sessionToken }
      await expect(context.other.sessions.create(anyone, again)).rejects.toMatchObject({
        reason: "SESSION_ALREADY_EXISTS",
      })
      expect(await rowsOf(session.sessionToken)).toMatchObject([{ user_id: session.userId }])
    })

    test("USER_NOT_FOUND: no such user", async () => {
      const session = newSession(newId(), context.clock.now + day)
      await expect(context.store.sessions.create(anyone, session)).rejects.toMatchObject({ reason: "USER_NOT_FOUND" })
      expect(await rowsOf(session.sessionToken)).toEqual([])
    })

    test("INVALID_FIELD: extra of more than 65,536 bytes as JSON", async () => {
      const session = newSession(await newUserId(), 0, { extra: { k: "x".repeat(65_529) } })
      const invalid = { reason: "INVALID_FIELD", field: "extra" }
      await expect(context.store.sessions.create(anyone, session)).rejects.toMatchObject(invalid)
      expect(await rowsOf(session.sessionToken)).toEqual([])
    })
  })

  describe("getWithUser", () => {
    test("concurrent calls each get their own result: sessions, expired, unknown and repeated ones", async () => {
      const sessions = await Promise.all(range(20).map((n) => created(context.clock.now + (n % 3 === 0 ? -1 : day))))
      const tokens = sessions.flatMap(({ sessionToken }, n) => (n % 4 === 0 ? [sessionToken, newId()] : [sessionToken]))
      const twice = [...tokens, ...tokens]
      const found = await Promise.all(twice.map((token) => context.store.sessions.getWithUser(anyone, token)))
      const valid = new Map(sessions.filter((_, n) => n % 3 !== 0).map((session) => [session.sessionToken, session]))
      expect(found.map((each) => each?.session ?? null)).toEqual(twice.map((token) => valid.get(token) ?? null))
      expect(found.map((each) => each?.user.id)).toEqual(twice.map((token) => valid.get(token)?.userId))
    })

    test("returns the session and its user", async () => {
      const user = newUser({ email: `${newId()}@example.com`, name: "Ada", extra: { role: "admin" } })
      await context.store.users.create(anyone, user)
      const session = newSession(user.id, context.clock.now + day, { extra: { device: "phone" } })
      const stored = await context.store.sessions.create(anyone, session)
      expect(await context.store.sessions.getWithUser(anyone, session.sessionToken)).toEqual({ session: stored, user })
    })

    test("a session that expires at this very millisecond has not expired", async () => {
      const session = await created(context.clock.now)
      expect(await context.store.sessions.getWithUser(anyone, session.sessionToken)).toMatchObject({ session })
    })

    test("S-27: null: it expired a millisecond ago", async () => {
      const session = await created(context.clock.now - 1)
      expect(await context.store.sessions.getWithUser(anyone, session.sessionToken)).toBeNull()
    })

    test("S-53: the row of a session that has expired by the database's clock is removed, and no other", async () => {
      // The store's clock is years ahead of the database's.
      const [lasting, expired] = [await created(Date.now() + day), await created(Date.now() - day)]
      for (const { sessionToken } of [lasting, expired])
        expect(await context.store.sessions.getWithUser(anyone, sessionToken)).toBeNull()
      expect(await rowsOf(lasting.sessionToken)).toHaveLength(1)
      expect(await rowsOf(expired.sessionToken)).toEqual([])
    })

    test("null: it has expired; a read does not wait until another transaction unlocks its row", async () => {
      const session = await created(Date.now() - day)
      const hash = createHash("sha256").update(session.sessionToken).digest()
      await context.database.sql("BEGIN")
      await context.database.sql("UPDATE sessions SET extra = extra WHERE token_hash = ?", [hash])
      expect(await context.store.sessions.getWithUser(anyone, session.sessionToken)).toBeNull()
      await context.database.sql("ROLLBACK")
      expect(await rowsOf(session.sessionToken)).toHaveLength(1)
    })

    test("an expired session that is extended meanwhile is not removed", async () => {
      const session = await created(Date.now() - day)
      const hash = createHash("sha256").update(session.sessionToken).digest()
      await context.database.sql("BEGIN")
      const later = context.database.moment(context.clock.now + day)
      await context.database.sql("UPDATE sessions SET expires = ? WHERE token_hash = ?", [later, hash])
      const met = context.database.lockMet()
      const reading = context.store.sessions.getWithUser(anyone, session.sessionToken)
      await met
      await context.database.sql("COMMIT")
      expect(await reading).toBeNull()
      expect(await rowsOf(session.sessionToken)).toMatchObject([{ expires: context.clock.now + day }])
    })
  })

  describe("update", () => {
    test("changes the given fields and leaves the others unchanged", async () => {
      const session = await context.store.sessions.create(
        anyone,
        newSession(await newUserId(), context.clock.now + day, { extra: { a: 1, b: 2 } }),
      )
      const { sessionToken } = session
      expect(await context.store.sessions.update(anyone, sessionToken, {})).toEqual(session)
      const userId = await newUserId()
      const patch = { userId, expires: new Date(context.clock.now + 2 * day + 7), extra: { b: null, c: [3] } }
      const updated = { id: expect.any(String), sessionToken, ...patch, extra: { a: 1, b: null, c: [3] } }
      expect(await context.store.sessions.update(anyone, sessionToken, patch)).toEqual(updated)
      expect(await rowsOf(sessionToken)).toMatchObject([
        { user_id: userId, expires: context.clock.now + 2 * day + 7, extra: '{"a":1,"b":null,"c":[3]}' },
      ])
      expect(await context.store.sessions.getWithUser(anyone, sessionToken)).toMatchObject({ session: updated })
    })

    test("null: no such session, and none is created", async () => {
      const sessionToken = newId()
      expect(await context.store.sessions.update(anyone, sessionToken, { extra: { a: 1 } })).toBeNull()
      expect(await rowsOf(sessionToken)).toEqual([])
    })

    test("one that expires at this very millisecond is extended", async () => {
      const { sessionToken } = await created(context.clock.now)
      const expires = new Date(context.clock.now + day)
      expect(await context.store.sessions.update(anyone, sessionToken, { expires })).toMatchObject({ expires })
    })

    test("null: it has expired; it is not restored", async () => {
      const session = await created(context.clock.now - 1)
      const patch = { expires: new Date(context.clock.now + day) }
      expect(await context.store.sessions.update(anyone, session.sessionToken, patch)).toBeNull()
      expect(await rowsOf(session.sessionToken)).toMatchObject([{ expires: context.clock.now - 1 }])
    })

    test("S-27: that races with a delete never restores the session", async () => {
      for (const _ of range(10)) {
        const { sessionToken } = await created()
        const patch = { expires: new Date(context.clock.now + 2 * day) }
        const updates = range(4).map(() => context.other.sessions.update(anyone, sessionToken, patch))
        const [counts] = await Promise.all([outcomes(updates), context.store.sessions.delete(anyone, sessionToken)])
        expect(counts).toEqual({ ok: 4 })
        expect(await rowsOf(sessionToken)).toEqual([])
      }
    })

    test("none of 20 concurrent updates is lost", async () => {
      const { sessionToken } = await created()
      const calls = range(20).map((n) =>
        (n % 2 ? context.store : context.other).sessions.update(anyone, sessionToken, { extra: { [`k${n}`]: n } }),
      )
      expect(await outcomes(calls)).toEqual({ ok: 20 })
      const [row] = await rowsOf(sessionToken)
      expect(JSON.parse(String(row?.extra))).toEqual(Object.fromEntries(range(20).map((n) => [`k${n}`, n])))
    })

    test("USER_NOT_FOUND: the new user does not exist; nothing is changed", async () => {
      const session = await created()
      const patch = { userId: newId(), expires: new Date(0) }
      await expect(context.store.sessions.update(anyone, session.sessionToken, patch)).rejects.toMatchObject({
        reason: "USER_NOT_FOUND",
      })
      expect(await rowsOf(session.sessionToken)).toMatchObject([
        { user_id: session.userId, expires: session.expires.getTime() },
      ])
    })

    test("INVALID_FIELD: extra of more than 65,536 bytes after merging", async () => {
      const { sessionToken } = await created()
      await context.store.sessions.update(anyone, sessionToken, { extra: { a: "x".repeat(40_000) } })
      const patch = { extra: { b: "x".repeat(30_000) } }
      const invalid = { reason: "INVALID_FIELD", field: "extra" }
      await expect(context.store.sessions.update(anyone, sessionToken, patch)).rejects.toMatchObject(invalid)
      expect(String((await rowsOf(sessionToken))[0]?.extra)).toHaveLength(40_008)
    })
  })

  describe("delete", () => {
    test.each([
      ["one that lasts", day],
      ["one that has expired", -day],
    ])("returns the session as it was and removes it: %s", async (_, lasts) => {
      const session = await created(context.clock.now + lasts)
      expect(await context.store.sessions.delete(anyone, session.sessionToken)).toEqual(session)
      expect(await rowsOf(session.sessionToken)).toEqual([])
      expect(await context.store.sessions.delete(anyone, session.sessionToken)).toBeNull()
    })

    test("returns it and removes it, whatever it contains", async () => {
      const extra = {
        zoë: "Ünï ✓ 🦊",
        minusZero: -0,
        tiny: 5e-324,
        none: null,
        list: [[], {}, " "],
        long: "é".repeat(30_000),
      }
      const session = await context.store.sessions.create(
        anyone,
        newSession(await newUserId(), context.clock.now + 1, { extra, sessionToken: `\u0000 ${newId()} é ` }),
      )
      expect(await context.store.sessions.delete(anyone, session.sessionToken)).toEqual(session)
      expect(await rowsOf(session.sessionToken)).toEqual([])
    })

    test("returns the removed row if it is changed meanwhile", async () => {
      const session = await created()
      const hash = createHash("sha256").update(session.sessionToken).digest()
      await context.database.sql("BEGIN")
      // Formatted as this store would not write it.
      await context.database.sql("UPDATE sessions SET extra = ? WHERE token_hash = ?", ['{ "changed": 1.0 }', hash])
      const met = context.database.lockMet()
      const deleting = context.store.sessions.delete(anyone, session.sessionToken)
      await met
      await context.database.sql("COMMIT")
      expect(await deleting).toEqual({ ...session, extra: { changed: 1 } })
      expect(await rowsOf(session.sessionToken)).toEqual([])
    })

    test("concurrent calls each return and remove their own session, and null for unknown ones", async () => {
      const sessions = await Promise.all(range(20).map(() => created()))
      const staying = await created()
      const deleted = await Promise.all(
        sessions.flatMap(({ sessionToken }) =>
          [sessionToken, newId()].map((token) => context.store.sessions.delete(anyone, token)),
        ),
      )
      expect(deleted).toEqual(sessions.flatMap((session) => [session, null]))
      for (const { sessionToken } of sessions) expect(await rowsOf(sessionToken)).toEqual([])
      expect(await rowsOf(staying.sessionToken)).toHaveLength(1)
    })

    test("of 10 concurrent calls one returns the session", async () => {
      const session = await created()
      const answers = await Promise.all(
        range(10).map((n) => (n % 2 ? context.store : context.other).sessions.delete(anyone, session.sessionToken)),
      )
      expect(answers.filter((answer) => answer !== null)).toEqual([session])
    })
  })
}
