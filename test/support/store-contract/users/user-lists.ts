import { describe, expect, test } from "@jest/globals"
import type { User, UserFilter } from "../../../../server/src/store/types.js"
import { type ContractContext, createTenant, newId, newUser, oddExtra, oddText, range } from "../context.js"
import { allPages } from "../pages.js"

export function userListContract(context: ContractContext): void {
  /** Creates users of a tenant, each `afterMs` milliseconds from now. */
  async function create(caller: { tenant: string }, ...users: [afterMs: number, user: User][]) {
    const { clock } = context
    const start = clock.now
    try {
      for (const [afterMs, user] of users) {
        clock.now = start + afterMs
        await context.store.users.create(caller, user)
      }
    } finally {
      clock.now = start
    }
  }
  const listedBy = async (caller: { tenant: string }, filter: UserFilter, size = 1000) =>
    (await allPages(size, (page) => context.store.users.list(caller, filter, page))).flat()
  const namesOf = (users: User[]) => users.map(({ id }) => id)

  describe("list", () => {
    test("returns users in the order of their creation, with every field and when they were created", async () => {
      const caller = await createTenant(context)
      const first = newUser({ id: "z", name: oddText, email: " Ada@Example.com", image: "i", extra: oddExtra })
      const at = (ms: number) => ({ created: new Date(ms), updated: new Date(ms) })
      const second = newUser({ id: "a", emailVerified: new Date("2024-02-29T23:59:59.999Z"), extra: { name: null } })
      await create(caller, [1, first], [2, second])
      expect(await context.other.users.list(caller, {}, { size: 2 })).toEqual({
        items: [
          { ...first, ...at(context.clock.now + 1) },
          { ...second, ...at(context.clock.now + 2) },
        ],
      })
    })

    test("returns users of one millisecond in the byte order of their ids", async () => {
      const caller = await createTenant(context)
      const inOrder = [" ", "A", "B", "Z", "a", "b", "e\u0301", "é", "ａ", "🙂"]
      await create(caller, ...[...inOrder].reverse().map((id): [number, User] => [0, newUser({ id })]))
      for (const size of [1, 3, 10, 11]) {
        expect(namesOf(await listedBy(caller, {}, size))).toEqual(inOrder)
        expect(namesOf(await listedBy(caller, { newestFirst: true }, size))).toEqual([...inOrder].reverse())
      }
    })

    test.each([1, 2, 15, 16, 17, 33, 34, 35, 1000])(
      "has each user on one page, whatever its size: %d",
      async (size) => {
        const caller = await createTenant(context)
        const users = range(34).map((n): [number, User] => [n >> 2, newUser({ id: `${n}`.padStart(2, "0") })])
        await create(caller, ...users)
        const pages = await allPages(size, (page) => context.store.users.list(caller, {}, page))
        expect(pages.map(({ length }) => length)).toEqual(
          range(Math.ceil(34 / size)).map((n) => Math.min(size, 34 - n * size)),
        )
        expect(namesOf(pages.flat())).toEqual(users.map(([, { id }]) => id))
      },
    )

    test("has users that were created meanwhile at the end, and omits those that were deleted", async () => {
      const caller = await createTenant(context)
      await create(caller, ...["b", "d", "f"].map((id, n): [number, User] => [n, newUser({ id })]))
      const { items, nextToken } = await context.store.users.list(caller, {}, { size: 1 })
      expect(namesOf(items)).toEqual(["b"])
      await create(caller, [9, newUser({ id: "a" })])
      // The user after which the next page begins is deleted, too.
      for (const id of ["b", "d"]) await context.store.users.delete(caller, id)
      const rest = await context.other.users.list(caller, {}, { size: 9, token: nextToken })
      expect(namesOf(rest.items)).toEqual(["f", "a"])
    })

    test("filters by creation: from one time on, and before another", async () => {
      const caller = await createTenant(context)
      await create(caller, ...range(4).map((n): [number, User] => [n, newUser({ id: `${n}` })]))
      const at = (n: number) => new Date(context.clock.now + n)
      const filters: [UserFilter, string[]][] = [
        [{ createdSince: at(2) }, ["2", "3"]],
        [{ createdBefore: at(2) }, ["0", "1"]],
        [{ createdSince: at(1), createdBefore: at(3) }, ["1", "2"]],
        [{ createdSince: at(2), createdBefore: at(2) }, []],
        [{ createdSince: at(9) }, []],
        [
          { createdSince: new Date("1000-01-01T00:00:00Z"), createdBefore: new Date("9999-12-31T23:59:59.999Z") },
          ["0", "1", "2", "3"],
        ],
      ]
      for (const [filter, ids] of filters) {
        expect(namesOf(await listedBy(caller, filter))).toEqual(ids)
        expect(namesOf(await listedBy(caller, filter, 1))).toEqual(ids)
        for (const size of [1, 1000])
          expect(namesOf(await listedBy(caller, { ...filter, newestFirst: true }, size))).toEqual([...ids].reverse())
        expect(await context.store.users.count(caller, filter)).toBe(ids.length)
      }
    })

    test.each<UserFilter>([{ emailPrefix: "a" }, { namePrefix: "a" }, { provider: "p" }])(
      "cannot begin with the newest where no time orders the list: %j",
      async (filter) => {
        const list = context.store.users.list({ tenant: newId() }, { ...filter, newestFirst: true }, { size: 1 })
        await expect(list).rejects.toMatchObject({ reason: "INVALID_FIELD", field: "newest_first" })
      },
    )

    test("finds the user with an address like getByEmail", async () => {
      const caller = await createTenant(context)
      const none = newUser({ id: "without", email: " " })
      await create(caller, [0, newUser({ id: "ada", email: "Ada@Example.com" })], [1, none], [1, newUser({ id: "x" })])
      const later = new Date(context.clock.now + 1)
      const filters: [UserFilter, string[]][] = [
        [{ email: " ADA@example.COM\t" }, ["ada"]],
        [{ email: "àda@example.com" }, []],
        [{ email: "" }, []],
        [{ email: " " }, []],
        [{ email: "ada@example.com", createdBefore: later }, ["ada"]],
        [{ email: "ada@example.com", createdSince: later }, []],
      ]
      for (const [filter, ids] of filters) {
        expect(namesOf(await listedBy(caller, filter))).toEqual(ids)
        expect(await context.store.users.count(caller, filter)).toBe(ids.length)
      }
    })

    test("ends a page before its users exceed 512 KiB, but not before the first one", async () => {
      const caller = await createTenant(context)
      const large = (id: string, bytes: number) => newUser({ id, image: "x".repeat(bytes) })
      const users = [large("a", 200_000), large("b", 200_000), large("c", 200_000), large("d", 1)]
      await create(caller, ...users.map((user): [number, User] => [0, user]))
      const pages = await allPages(9, (page) => context.store.users.list(caller, {}, page))
      expect(pages.map(namesOf)).toEqual([
        ["a", "b"],
        ["c", "d"],
      ])
    })

    test("ends a page after 100 users", async () => {
      const caller = await createTenant(context)
      await create(caller, ...range(101).map((n): [number, User] => [n, newUser({ id: `${n}` })]))
      const pages = await allPages(1000, (page) => context.store.users.list(caller, {}, page))
      expect(pages.map((items) => items.length)).toEqual([100, 1])
    })
  })
}
