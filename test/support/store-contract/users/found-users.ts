import { describe, expect, test } from "@jest/globals"
import type { UserFilter } from "../../../../server/src/store/types.js"
import { until } from "../../until.js"
import { type ContractContext, createTenant, day, newAccount, newId, newSession, newUser, range } from "../context.js"
import { allPages } from "../pages.js"
import { folded, names, prefixes } from "./names.js"

/** Declares the tests of the filters by which users are found. */
export function foundUserContract(context: ContractContext): void {
  const found = async (caller: { tenant: string }, filter: UserFilter, size = 1000) =>
    (await allPages(size, (page) => context.other.users.list(caller, filter, page))).flat().map(({ id }) => id)
  const inBytes = (one: string, other: string) => Buffer.compare(Buffer.from(one), Buffer.from(other))

  describe("find", () => {
    test("by the beginning of the name, folded like addresses and in no other way, in the order of its bytes", async () => {
      const [caller, other] = [await createTenant(context), await createTenant(context)]
      const users = names.map((name, n) => newUser({ id: `${n}`.padStart(3, "0"), name }))
      for (const user of users) await context.store.users.create(caller, user)
      for (const each of [caller, other]) await context.store.users.create(each, newUser({ id: "none" }))
      for (const prefix of prefixes) {
        const matching = users.filter(({ name = "" }) => folded(name).startsWith(folded(prefix)))
        const key = ({ name = "" }) =>
          [...name.replace(/^[\t-\r ]+/, "")].slice(0, 128).join("").replace(/[A-Z]/g, folded)
        const expected = matching.sort((a, b) => inBytes(key(a), key(b)) || inBytes(a.id, b.id)).map(({ id }) => id)
        for (const size of [1000, 3]) {
          expect([prefix, size, await found(caller, { namePrefix: prefix }, size)]).toEqual([prefix, size, expected])
        }
        expect(await found(other, { namePrefix: prefix })).toEqual([])
      }
      for (const blank of [" ", "\t\n"]) expect(await found(caller, { namePrefix: blank })).toEqual([])
    })

    test("by the beginning of the address, in the order of its bytes", async () => {
      const caller = await createTenant(context)
      const emails = [
        "Ada@Example.com",
        " adam@example.com ",
        "àda@example.com",
        "a%@x",
        "a_@x",
        "ab@x",
        "A\\@x",
        "b@x",
      ]
      for (const email of [...emails].reverse()) {
        await context.store.users.create(caller, newUser({ id: folded(email), email }))
      }
      await context.store.users.create(caller, newUser({ id: "without", email: " " }))
      const keys = emails.map(folded).sort(inBytes)
      for (const prefix of ["a", " ADA", "ada@", "a%", "a_", "a\\", "à", "b@x", "b@xx", "c", "ada@example.com"]) {
        const expected = keys.filter((key) => key.startsWith(folded(prefix)))
        expect([prefix, await found(caller, { emailPrefix: prefix })]).toEqual([prefix, expected])
        expect(await found(caller, { emailPrefix: prefix }, 1)).toEqual(expected)
      }
      expect(await found(caller, { emailPrefix: " " })).toEqual([])
    })

    test.each([1, 2, 16, 1000])("by provider, each user once, with pages of %d", async (size) => {
      const [caller, other] = [await createTenant(context), await createTenant(context)]
      for (const id of ["a", "b", "c", "d"]) await context.store.users.create(caller, newUser({ id }))
      await context.store.users.create(other, newUser({ id: "a" }))
      const link = (tenant: typeof caller, userId: string, provider: string, providerAccountId: string) =>
        context.store.accounts.link(tenant, newAccount(userId, { provider, providerAccountId }))
      await link(other, "a", "p", "0")
      for (const n of range(20)) await link(caller, "c", "p", `1${String(n).padStart(2, "0")}`)
      for (const [user, account] of ["d2", "a3", "d4"]) await link(caller, user as string, "p", account as string)
      await link(caller, "b", "P", "1")
      await link(caller, "c", "an earlier one", "0")
      expect(await found(caller, { provider: "p" }, size)).toEqual(["c", "d", "a"])
      expect(await found(caller, { provider: "P" }, size)).toEqual(["b"])
      expect(await found(caller, { provider: "none" }, size)).toEqual([])
    })

    test("by the day on which a session was last created, read or changed, also after it is gone", async () => {
      const { store, database, clock } = context
      const caller = await createTenant(context)
      const other = await createTenant(context)
      const ids = ["never", "created", "changed", "read"]
      for (const id of ids) await store.users.create(other, newUser({ id }))
      for (const id of ids) await store.users.create(caller, newUser({ id }))
      const tokens = new Map<string, string>()
      for (const id of ids.slice(1)) {
        const { sessionToken } = await store.sessions.create(caller, newSession(id, clock.now + 30 * day))
        tokens.set(id, sessionToken)
      }
      const since = (days: number, size = 1) =>
        found(caller, { lastSeenSince: new Date(Date.now() + days * day) }, size)
      expect(await since(0)).toEqual(["changed", "created", "read"])
      expect(await since(1)).toEqual([])
      // Everything was three days ago.
      for (const column of ["users SET last_seen_day", "sessions SET last_seen"]) {
        const then = database.moment(Math.floor(Date.now() / day - 3) * day)
        await database.sql(`UPDATE ${column} = ? WHERE tenant = ? AND ${column.split(" ")[2]} IS NOT NULL`, [
          then,
          caller.tenant,
        ])
      }
      // The day counts, not the moment.
      for (const days of [-3, -30]) expect(await since(days)).toEqual(["changed", "created", "read"])
      expect(await since(-2)).toEqual([])
      await store.sessions.create(caller, newSession("created", clock.now + day))
      expect(await since(-2)).toEqual(["created"])
      await store.sessions.update(caller, tokens.get("changed") as string, { expires: new Date(clock.now + day) })
      expect(await since(-2)).toEqual(["changed", "created"])
      const newestFirst = { lastSeenSince: new Date(0), newestFirst: true } as const
      expect(await found(caller, newestFirst, 1)).toEqual(["created", "changed", "read"])
      await store.sessions.getWithUser(caller, tokens.get("read") as string)
      await until(async () => (await since(0)).length === 3)
      for (const id of ids) await store.sessions.revokeOfUser(caller, id, {})
      expect(await since(0)).toEqual(["changed", "created", "read"])
      expect(await found(other, { lastSeenSince: new Date(0) })).toEqual([])
    })

    test.each([1, 2, 1000])("by being disabled or not, with pages of %d", async (size) => {
      const { store, clock } = context
      const start = clock.now
      const [caller, other] = [await createTenant(context), await createTenant(context)]
      for (const id of ["a", "b", "c", "d", "e"]) await store.users.create(caller, newUser({ id, email: `${id}@x` }))
      await store.users.create(other, newUser({ id: "a" }))
      await store.users.disable(other, "a", {})
      const disabled = (filter: UserFilter = {}) => found(caller, { ...filter, disabled: true }, size)
      const enabled = (filter: UserFilter = {}) => found(caller, { ...filter, disabled: false }, size)
      try {
        for (const [id, until] of [["d"], ["a", new Date(start + day)], ["b"], ["c"]] as [string, Date?][]) {
          clock.now++
          await store.users.disable(caller, id, { until })
        }
        await store.users.enable(caller, "b")
        expect([await disabled(), await enabled()]).toEqual([
          ["d", "a", "c"],
          ["b", "e"],
        ])
        expect(await disabled({ newestFirst: true })).toEqual(["c", "a", "d"])
        clock.now = start + day
        expect([await disabled(), await enabled()]).toEqual([
          ["d", "c"],
          ["a", "b", "e"],
        ])
        await store.accounts.link(caller, newAccount("e", { provider: "p", providerAccountId: "e" }))
        for (const filter of [
          { emailPrefix: "e" },
          { email: "e@x" },
          { provider: "p" },
          { createdSince: new Date(0) },
        ]) {
          expect((await enabled(filter)).at(-1)).toEqual("e")
        }
        for (const filter of [{ emailPrefix: "d" }, { email: "d@x" }]) expect(await enabled(filter)).toEqual([])
      } finally {
        clock.now = start
      }
    })

    test("omits users that are being deleted", async () => {
      const caller = await createTenant(context)
      for (const id of ["kept", "gone"]) {
        await context.store.users.create(caller, newUser({ id, name: "Ada", email: `${id}@x` }))
        await context.store.accounts.link(caller, newAccount(id, { provider: "p", providerAccountId: id }))
      }
      const mark =
        "UPDATE users SET deleted = created, email_key = NULL, last_seen_day = created, disabled = created WHERE tenant = ? AND id = 'gone'"
      await context.database.sql(mark, [caller.tenant])
      for (const filter of [{ namePrefix: "a" }, { provider: "p" }, { emailPrefix: "k" }]) {
        expect(await found(caller, filter)).toEqual(["kept"])
      }
      for (const filter of [{ lastSeenSince: new Date(0) }, { disabled: true }])
        expect(await found(caller, filter)).toEqual([])
    })

    const prefix = { namePrefix: "a" }
    const time = new Date(0)
    test.each<[string, string, UserFilter]>([
      ["email_prefix and name_prefix", "name_prefix", { ...prefix, emailPrefix: "a" }],
      ["email and provider", "provider", { email: "a", provider: "p" }],
      ["provider and last_seen_since", "last_seen_since", { provider: "p", lastSeenSince: time }],
      ["name_prefix and disabled", "disabled", { ...prefix, disabled: true }],
      ["name_prefix and created_since", "created_since", { ...prefix, createdSince: time }],
      ["last_seen_since and created_before", "created_before", { lastSeenSince: time, createdBefore: time }],
    ])("INVALID_FIELD: %s, which no index serves together", async (combination, field, filter) => {
      const failure = { reason: "INVALID_FIELD", field, message: expect.stringContaining(combination) }
      await expect(context.store.users.list({ tenant: newId() }, filter, { size: 1 })).rejects.toMatchObject(failure)
    })
  })

  describe("getMany", () => {
    test("returns users in the order of the ids, null for those that do not exist, and repeats repeated ones", async () => {
      const [caller, other] = [await createTenant(context), await createTenant(context)]
      const users = range(40).map((n) => newUser({ id: `${n}`, name: `User ${n}` }))
      for (const user of users) await context.store.users.create(caller, user)
      await context.store.users.create(other, newUser({ id: "other" }))
      const ids = [...users.map(({ id }) => id).reverse(), "other", "7", "7", "7 ", "none"]
      const expected = [...[...users].reverse(), null, users[7], users[7], null, null]
      expect(await context.other.users.getMany(caller, ids)).toMatchObject(expected)
    })

    test("ends before the users exceed 512 KiB, but not before the first one", async () => {
      const caller = await createTenant(context)
      for (const id of ["a", "b", "c"])
        await context.store.users.create(caller, newUser({ id, image: "x".repeat(200_000) }))
      const many = await context.store.users.getMany(caller, ["a", "b", "c"])
      expect(many.map((user) => user?.id)).toEqual(["a", "b"])
      await context.database.sql("UPDATE users SET image = ? WHERE tenant = ?", ["x".repeat(600_000), caller.tenant])
      expect(await context.store.users.getMany(caller, ["none", "a"])).toEqual([null])
      expect(await context.store.users.getMany(caller, ["a", "b"])).toHaveLength(1)
    })
  })
}
