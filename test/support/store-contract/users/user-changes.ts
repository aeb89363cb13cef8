import { describe, expect, test } from "@jest/globals"
import {
  anyone,
  type ContractContext,
  day,
  newAccount,
  newAuthenticator,
  newId,
  newSession,
  newUser,
  oddExtra,
  outcomes,
  range,
} from "../context.js"

export function userChangeContract(context: ContractContext): void {
  const rowsOf = (id: string) => context.database.sql("SELECT * FROM users WHERE id = ?", [id])

  describe("update", () => {
    const everything = () =>
      newUser({
        email: `${newId()}@example.com`,
        emailVerified: new Date("2024-01-02T03:04:05.678Z"),
        name: "Ada",
        image: "https://example.com/a.png",
        extra: { role: "admin", list: [1] },
      })

    test("does not change fields that are absent or undefined", async () => {
      const user = await context.store.users.create(anyone, everything())
      const nothing = {
        email: undefined,
        emailVerified: undefined,
        name: undefined,
        image: undefined,
        extra: undefined,
      }
      expect(await context.store.users.update(anyone, user.id, nothing)).toEqual(user)
      expect(await context.store.users.update(anyone, user.id, {})).toEqual(user)
      expect(await context.store.users.get(anyone, user.id)).toEqual(user)
    })

    test("sets the given fields, and the database contains them", async () => {
      const { id } = await context.store.users.create(anyone, newUser())
      const patch = everything()
      const updated = { ...patch, id }
      expect(await context.store.users.update(anyone, id, patch)).toEqual(updated)
      expect(await context.other.users.get(anyone, id)).toEqual(updated)
      expect(await rowsOf(id)).toEqual([
        {
          tenant: "default",
          id,
          email: patch.email,
          email_key: patch.email,
          email_verified: Date.UTC(2024, 0, 2, 3, 4, 5, 678),
          name: "Ada",
          image: patch.image,
          extra: JSON.stringify(patch.extra),
          created: context.clock.now,
          updated: context.clock.now,
          ...{ provisional_until: null, private_extra: null, deleted: null, last_seen_day: null },
          ...{ disabled: null, disabled_until: null, disabled_reason: null },
          name_key: "ada",
        },
      ])
    })

    test("null clears a field, which reads back as null until it is set again", async () => {
      const user = await context.store.users.create(anyone, everything())
      const cleared = { email: null, emailVerified: null, name: null, image: null }
      const bare = { id: user.id, extra: { ...user.extra, email: null, name: null, image: null } }
      expect(await context.store.users.update(anyone, user.id, cleared)).toEqual(bare)
      expect(await context.store.users.get(anyone, user.id)).toEqual(bare)
      expect(await rowsOf(user.id)).toMatchObject([
        { email: null, email_key: null, email_verified: null, name: null, image: null },
      ])
      expect(await context.store.users.update(anyone, user.id, { ...user, extra: undefined })).toEqual(user)
      expect(await context.store.users.get(anyone, user.id)).toEqual(user)
    })

    test("merges extra key by key", async () => {
      const user = await context.store.users.create(anyone, newUser({ extra: { keep: 1, change: { a: 1 }, null: 2 } }))
      const extra = JSON.parse('{"change":{"b":2},"null":null,"new":true,"__proto__":{"polluted":1}}')
      await context.store.users.update(anyone, user.id, { extra })
      const merged = '{"keep":1,"change":{"b":2},"null":null,"new":true,"__proto__":{"polluted":1}}'
      expect(await rowsOf(user.id)).toMatchObject([{ extra: merged }])
      expect(JSON.stringify((await context.store.users.get(anyone, user.id))?.extra)).toBe(merged)
      expect(({} as Record<string, unknown>).polluted).toBeUndefined()
    })

    test("INVALID_FIELD: extra of more than 65,536 bytes after merging", async () => {
      const user = await context.store.users.create(anyone, newUser({ extra: { a: "x".repeat(40_000) } }))
      const patch = { name: "new", extra: { b: "x".repeat(30_000) } }
      await expect(context.store.users.update(anyone, user.id, patch)).rejects.toMatchObject({
        reason: "INVALID_FIELD",
        field: "extra",
      })
      expect(await rowsOf(user.id)).toMatchObject([{ name: null, extra: JSON.stringify(user.extra) }])
    })

    test("a new address replaces the old one", async () => {
      const [old, next] = [`${newId()}@example.com`, `${newId()}@Example.com`]
      const user = await context.store.users.create(anyone, newUser({ email: old }))
      await context.store.users.update(anyone, user.id, { email: next })
      expect(await context.store.users.getByEmail(anyone, old)).toBeNull()
      expect(await context.store.users.getByEmail(anyone, next.toUpperCase())).toEqual({ ...user, email: next })
      await context.store.users.create(anyone, newUser({ email: old }))
    })

    test("EMAIL_ALREADY_EXISTS: another user has the address; nothing is changed", async () => {
      const taken = `${newId()}@example.com`
      await context.store.users.create(anyone, newUser({ email: taken }))
      const user = await context.store.users.create(anyone, everything())
      const patch = { email: taken.toUpperCase(), name: "new" }
      await expect(context.store.users.update(anyone, user.id, patch)).rejects.toMatchObject({
        reason: "EMAIL_ALREADY_EXISTS",
      })
      expect(await rowsOf(user.id)).toMatchObject([{ email: user.email, name: "Ada" }])
    })

    test("none of 20 concurrent updates is lost", async () => {
      const { id } = await context.store.users.create(anyone, newUser({ extra: oddExtra }))
      const stores = [context.store, context.other]
      await Promise.all(range(20).map((n) => stores[n % 2]?.users.update(anyone, id, { extra: { [`k${n}`]: n } })))
      const [row] = await rowsOf(id)
      const expected = Object.fromEntries(range(20).map((n) => [`k${n}`, n]))
      expect(JSON.parse(String(row?.extra))).toMatchObject(expected)
    })

    test("that races with a delete never restores the user", async () => {
      for (const _ of range(10)) {
        const { id } = await context.store.users.create(anyone, newUser())
        const updates = range(4).map(() => context.other.users.update(anyone, id, { name: "back" }))
        const [counts] = await Promise.all([outcomes(updates), context.store.users.delete(anyone, id)])
        expect(counts).toEqual({ ok: 4 })
        expect(await rowsOf(id)).toEqual([])
      }
    })
  })

  describe("delete", () => {
    test("removes the user with its accounts, sessions and authenticators, and nothing else", async () => {
      const [user, bystander] = [newUser({ name: "gone", extra: { role: "x" } }), newUser()]
      for (const { id } of [user, bystander]) {
        await context.store.users.create(anyone, id === user.id ? user : bystander)
        for (const _ of range(2)) {
          await context.store.accounts.link(anyone, newAccount(id))
          await context.store.sessions.create(anyone, newSession(id, context.clock.now + day))
          await context.store.authenticators.create(anyone, newAuthenticator(id))
        }
      }
      expect(await context.store.users.delete(anyone, user.id)).toEqual(user)
      for (const table of ["accounts", "sessions", "authenticators"]) {
        const count = async (id: string) =>
          (await context.database.sql(`SELECT COUNT(*) AS n FROM ${table} WHERE user_id = ?`, [id]))[0]?.n
        expect([table, await count(user.id), await count(bystander.id)]).toEqual([table, 0, 2])
      }
      expect(await rowsOf(user.id)).toEqual([])
      expect(await rowsOf(bystander.id)).toHaveLength(1)
    })

    test("of 10 concurrent calls one returns the user", async () => {
      const { id } = await context.store.users.create(anyone, newUser())
      await context.store.sessions.create(anyone, newSession(id, context.clock.now + day))
      const answers = await Promise.all(
        range(10).map((n) => (n % 2 ? context.store : context.other).users.delete(anyone, id)),
      )
      expect(answers.filter((answer) => answer !== null)).toHaveLength(1)
    })

    test("leaves no session, account or authenticator behind, even if one is created at the same time", async () => {
      for (const _ of range(8)) {
        const { id } = await context.store.users.create(anyone, newUser())
        const calls = range(12).flatMap(() => [
          context.other.sessions.create(anyone, newSession(id, context.clock.now + day)),
          context.other.accounts.link(anyone, newAccount(id)),
          context.other.authenticators.create(anyone, newAuthenticator(id)),
        ])
        const [counts] = await Promise.all([outcomes(calls), context.store.users.delete(anyone, id)])
        expect(Object.keys(counts).filter((outcome) => !["ok", "USER_NOT_FOUND"].includes(outcome))).toEqual([])
        expect(await rowsOf(id)).toEqual([])
        for (const table of ["accounts", "sessions", "authenticators"]) {
          const sql = `SELECT COUNT(*) AS n FROM ${table} WHERE user_id = ?`
          expect(await context.database.sql(sql, [id])).toEqual([{ n: 0 }])
        }
      }
    })
  })
}
