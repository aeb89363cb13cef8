import { describe, expect, test } from "@jest/globals"
import type { SessionFilter, SessionMetadata } from "../../../../server/src/store/types.js"
import { type ContractContext, createTenant, day, newId, newSession, newUser, range } from "../context.js"
import { allPages } from "../pages.js"

/** Declares the tests of lists of the sessions of all users. */
export function tenantSessionContract(context: ContractContext): void {
  const given: (SessionMetadata & { userId: string; afterMs: number })[] = [
    { userId: "u", afterMs: 0, ip: "203.0.113.7" },
    { userId: "v", afterMs: 1, ip: "203.0.113.7", impersonator: "bob" },
    { userId: "u", afterMs: 2, ip: "203.0.113.70", impersonator: "Bob" },
    { userId: "v", afterMs: 3, impersonator: "" },
    { userId: "u", afterMs: 4, ip: "2001:DB8::1", impersonator: "bob" },
    { userId: "v", afterMs: 5, ip: "2001:db8::1", impersonator: "é" },
    { userId: "u", afterMs: 6 },
  ]
  /** Creates sessions of two users. Returns a function that lists them as the numbers of the given ones. */
  async function filled() {
    const { clock } = context
    const start = clock.now
    const caller = await createTenant(context)
    for (const id of ["u", "v"]) await context.store.users.create(caller, newUser({ id }))
    const ids: (string | undefined)[] = []
    try {
      for (const { userId, afterMs, ...origin } of given) {
        clock.now = start + afterMs
        ids.push((await context.store.sessions.create(caller, newSession(userId, start + day), origin)).id)
      }
    } finally {
      clock.now = start
    }
    const listed = async (filter: SessionFilter, size: number) =>
      (await allPages(size, (page) => context.other.sessions.list(caller, filter, page)))
        .flat()
        .map(({ id }) => ids.indexOf(id))
    return { caller, listed, at: (ms: number) => new Date(start + ms) }
  }

  describe("list of all users", () => {
    test.each([1, 2, 1000])("by creation, address and impersonation, with pages of %d", async (size) => {
      const { listed, at } = await filled()
      const filters: [SessionFilter, number[]][] = [
        [{}, [6, 5, 4, 3, 2, 1, 0]],
        [{ createdSince: at(4) }, [6, 5, 4]],
        [{ createdSince: at(9) }, []],
        [{ ip: "203.0.113.7" }, [1, 0]],
        [{ ip: "203.0.113.7", createdSince: at(1) }, [1]],
        [{ ip: "2001:db8::1" }, [5]],
        [{ ip: "203.0.113." }, []],
        [{ impersonated: true }, [5, 4, 3, 2, 1]],
        [{ impersonated: true, createdSince: at(2) }, [5, 4, 3, 2]],
      ]
      for (const [filter, expected] of filters) expect([filter, await listed(filter, size)]).toEqual([filter, expected])
    })

    test("has no sessions of users that are being deleted, and none of other tenants", async () => {
      const { caller, listed } = await filled()
      await filled()
      await context.database.sql("UPDATE users SET deleted = created WHERE tenant = ? AND id = 'v'", [caller.tenant])
      expect(await listed({}, 1)).toEqual([6, 4, 2, 0])
      expect(await listed({ impersonated: true }, 1)).toEqual([4, 2])
      expect(await listed({ ip: "203.0.113.7" }, 1)).toEqual([0])
    })

    test("has each of very many sessions of one time on one page", async () => {
      const caller = await createTenant(context)
      await context.store.users.create(caller, newUser({ id: "u" }))
      for (const n of range(40)) {
        const origin = { ip: "i", impersonator: `staff ${n}` }
        await context.store.sessions.create(caller, newSession("u", context.clock.now + day), origin)
      }
      for (const filter of [{}, { ip: "i" }, { impersonated: true as const }]) {
        const pages = await allPages(7, (page) => context.store.sessions.list(caller, filter, page))
        const ids = pages.flat().map(({ id = "" }) => id)
        expect([...new Set(ids)].sort().reverse()).toEqual(ids)
        expect(ids).toHaveLength(40)
      }
    })

    test.each<[string, SessionFilter]>([
      ["user_id and ip", { userId: "u", ip: "i" }],
      ["user_id and impersonated", { userId: "u", impersonated: true }],
      ["all_users and active", { active: true }],
      ["all_users and provider", { provider: "p" }],
      ["all_users and ip and impersonated", { ip: "i", impersonated: true }],
      ["all_users and ip and active", { ip: "i", active: false }],
    ])("INVALID_FIELD: %s, which no index serves together", async (combination, filter) => {
      const list = async () => context.store.sessions.list({ tenant: newId() }, filter, { size: 1 })
      const failure = {
        reason: "INVALID_FIELD",
        field: combination.split(" ").at(-1),
        message: expect.stringContaining(combination),
      }
      await expect(list()).rejects.toMatchObject(failure)
    })
  })
}
