import { describe, expect, test } from "@jest/globals"
import {
  anyone,
  type ContractContext,
  differentKeys,
  newId,
  newUser,
  oddExtra,
  oddText,
  outcomes,
  range,
} from "../context.js"

export function userContract(context: ContractContext): void {
  const rowsOf = (id: string) => context.database.sql("SELECT * FROM users WHERE id = ?", [id])
  const addressOf = (id: string) => `${id}@example.com`

  describe("create", () => {
    test("keeps every field exactly, and the database holds it", async () => {
      const unique = newId()
      const user = newUser({
        id: `id ${unique} é🙂`,
        email: ` Zoë+🙂.${unique}@Example.COM `,
        emailVerified: new Date("2024-02-29T23:59:59.999Z"),
        name: oddText,
        image: "data:image/png;base64,AAAA",
        extra: oddExtra,
      })
      expect(await context.store.users.create(anyone, user)).toEqual(user)
      expect(await context.other.users.get(anyone, user.id)).toEqual(user)
      expect(await rowsOf(user.id)).toEqual([
        {
          tenant: "default",
          id: user.id,
          email: user.email,
          email_key: `zoë+🙂.${unique}@example.com`,
          email_verified: Date.UTC(2024, 1, 29, 23, 59, 59, 999),
          name: oddText,
          image: user.image,
          extra: JSON.stringify(oddExtra),
          created: context.clock.now,
          updated: context.clock.now,
          ...{ provisional_until: null, private_extra: null, deleted: null, last_seen_day: null },
          ...{ disabled: null, disabled_until: null, disabled_reason: null },
          name_key: oddText.replace("Z", "z"),
        },
      ])
    })

    test("absent is not null", async () => {
      const absent = newUser()
      const empty = newUser({ extra: { name: null, email: null, image: null } })
      await context.store.users.create(anyone, absent)
      await context.store.users.create(anyone, empty)
      expect(await context.store.users.get(anyone, absent.id)).toEqual(absent)
      expect(await context.store.users.get(anyone, empty.id)).toEqual(empty)
      expect(await rowsOf(empty.id)).toMatchObject([{ name: null, email: null, image: null, email_key: null }])
    })

    test("empty text is neither absent nor null", async () => {
      const user = newUser({ name: "", image: "", email: "" })
      await context.store.users.create(anyone, user)
      expect(await context.store.users.get(anyone, user.id)).toEqual(user)
    })

    test.each([
      ["the first year", "1000-01-01T00:00:00.000Z"],
      ["before 1970", "1969-12-31T23:59:59.001Z"],
      ["an hour that a time zone skips", "2024-03-31T02:30:00.123Z"],
      ["an hour that a time zone has twice", "2024-10-27T00:30:00.456Z"],
      ["beyond 32 bits", "2038-01-19T03:14:08.789Z"],
      ["the last moment", "9999-12-31T23:59:59.999Z"],
    ])("keeps a moment to the millisecond: %s", async (_, iso) => {
      const user = newUser({ emailVerified: new Date(iso) })
      await context.store.users.create(anyone, user)
      expect((await context.store.users.get(anyone, user.id))?.emailVerified?.toISOString()).toBe(iso)
      expect(await rowsOf(user.id)).toMatchObject([{ email_verified: Date.parse(iso) }])
    })

    test("keeps values as long as the schema allows", async () => {
      const user = newUser({
        id: newId().padEnd(255, "i"),
        email: `${newId()}${"🙂".repeat(320 - 36)}`,
        name: "🙂".repeat(1024),
        image: "x".repeat(262_144),
        extra: { k: "x".repeat(65_536 - '{"k":""}'.length) },
      })
      await context.store.users.create(anyone, user)
      expect(await context.store.users.get(anyone, user.id)).toEqual(user)
      expect(await context.store.users.getByEmail(anyone, user.email as string)).toEqual(user)
    })

    test("INVALID_FIELD: extra of more than 65,536 bytes as JSON", async () => {
      const user = newUser({ extra: { k: `${"x".repeat(65_535 - '{"k":""}'.length)}é` } })
      const invalid = { reason: "INVALID_FIELD", field: "extra" }
      await expect(context.store.users.create(anyone, user)).rejects.toMatchObject(invalid)
      expect(await rowsOf(user.id)).toEqual([])
    })

    test("USER_ALREADY_EXISTS: the id is taken, whatever the address", async () => {
      const first = newUser({ email: addressOf(newId()), name: "first" })
      await context.store.users.create(anyone, first)
      for (const second of [newUser({ id: first.id }), { ...first, name: "second" }]) {
        await expect(context.other.users.create(anyone, second)).rejects.toMatchObject({
          reason: "USER_ALREADY_EXISTS",
        })
      }
      expect(await rowsOf(first.id)).toMatchObject([{ name: "first" }])
    })

    test("EMAIL_ALREADY_EXISTS: another user has the address", async () => {
      const email = addressOf(newId())
      await context.store.users.create(anyone, newUser({ email }))
      const second = newUser({ email })
      await expect(context.other.users.create(anyone, second)).rejects.toMatchObject({ reason: "EMAIL_ALREADY_EXISTS" })
      expect(await rowsOf(second.id)).toEqual([])
    })

    test("an error does not quote the address", async () => {
      const email = addressOf(newId())
      await context.store.users.create(anyone, newUser({ email }))
      const error: Error = await context.store.users.create(anyone, newUser({ email })).then(
        () => new Error("created"),
        (error) => error,
      )
      expect(`${error.message} ${error.stack} ${String(error.cause)}`).not.toContain(email)
    })

    test("of 20 concurrent calls with the same id, or the same address, one succeeds", async () => {
      const id = newId()
      const email = addressOf(newId())
      const stores = [context.store, context.other]
      const sameId = range(20).map((n) => stores[n % 2]?.users.create(anyone, newUser({ id })) as Promise<unknown>)
      expect(await outcomes(sameId)).toEqual({ ok: 1, USER_ALREADY_EXISTS: 19 })
      const sameEmail = range(20).map(
        (n) => stores[n % 2]?.users.create(anyone, newUser({ email })) as Promise<unknown>,
      )
      expect(await outcomes(sameEmail)).toEqual({ ok: 1, EMAIL_ALREADY_EXISTS: 19 })
      expect(await context.database.sql("SELECT COUNT(*) AS n FROM users WHERE email = ?", [email])).toEqual([{ n: 1 }])
    })
  })

  describe("ids", () => {
    test.each(differentKeys)("S-25: are compared byte for byte: %s", async (_, one, another) => {
      const prefix = newId()
      const [first, second] = [newUser({ id: prefix + one }), newUser({ id: prefix + another })]
      await context.store.users.create(anyone, first)
      expect(await context.store.users.get(anyone, second.id)).toBeNull()
      await context.store.users.create(anyone, second)
      expect(await context.store.users.get(anyone, first.id)).toEqual(first)
      expect(await context.store.users.get(anyone, second.id)).toEqual(second)
      const ids = [second.id, newId(), first.id, second.id]
      const together = await Promise.all(ids.map((id) => context.store.users.get(anyone, id)))
      expect(together).toEqual([second, null, first, second])
      await context.store.users.delete(anyone, second.id)
      expect(await rowsOf(first.id)).toHaveLength(1)
    })
  })

  describe("S-25: e-mail addresses", () => {
    test.each([
      ["case of ASCII letters", "ada@example.com", "ADA@Example.Com"],
      ["ASCII white space around", "ada@example.com", " \t\r\n\v\fada@example.com \n"],
    ])("are the same: %s", async (_, one, another) => {
      const prefix = newId()
      const user = newUser({ email: another.replace(/ada/i, (name) => prefix + name) })
      await context.store.users.create(anyone, user)
      const same = one.replace("ada", `${prefix}ada`)
      expect(await context.store.users.getByEmail(anyone, same)).toEqual(user)
      const ways = [same, newId(), user.email as string].map((email) => context.store.users.getByEmail(anyone, email))
      expect(await Promise.all(ways)).toEqual([user, null, user])
      await expect(context.store.users.create(anyone, newUser({ email: same }))).rejects.toMatchObject({
        reason: "EMAIL_ALREADY_EXISTS",
      })
    })

    test.each([
      ["dotless i", "i@example.com", "ı@example.com"],
      ["capital I with a dot", "i@example.com", "İ@example.com"],
      ["the Kelvin sign", "k@example.com", "\u212a@example.com"],
      ["the long s", "s@example.com", "ſ@example.com"],
      ["accents", "e@example.com", "é@example.com"],
      ["case beyond ASCII", "é@example.com", "É@example.com"],
      ["Unicode form", "\u00e9@example.com", "e\u0301@example.com"],
      ["width", "a@example.com", "ａ@example.com"],
      ["a no-break space around", "a@example.com", "a@example.com\u00a0"],
      ["a byte order mark around", "a@example.com", "a@example.com\ufeff"],
      ["white space within", "a@example.com", "a @example.com"],
    ])("are not the same: %s", async (_, one, another) => {
      const [first, second] = [newUser({ email: `${newId()}` }), newUser()]
      Object.assign(second, { email: first.email + another })
      Object.assign(first, { email: first.email + one })
      await context.store.users.create(anyone, first)
      expect(await context.store.users.getByEmail(anyone, second.email as string)).toBeNull()
      await context.store.users.create(anyone, second)
      expect(await context.store.users.getByEmail(anyone, first.email as string)).toEqual(first)
      expect(await context.store.users.getByEmail(anyone, second.email as string)).toEqual(second)
      const emails = [second, newUser({ email: newId() }), first].map(({ email }) => email as string)
      const together = await Promise.all(emails.map((email) => context.store.users.getByEmail(anyone, email)))
      expect(together).toEqual([second, null, first])
    })

    test("that are absent or blank identify no user, and any number of users may have them", async () => {
      const users = [undefined, undefined, "", "", " \t", " \t"].map((email) => newUser({ email }))
      for (const user of users) await context.store.users.create(anyone, user)
      for (const user of users) expect(await context.store.users.get(anyone, user.id)).toEqual(user)
      expect(await context.store.users.getByEmail(anyone, "")).toBeNull()
      expect(await context.store.users.getByEmail(anyone, " \t")).toBeNull()
    })
  })
}
