import { describe, expect, test } from "@jest/globals"
import type { SessionFilter } from "../../../../server/src/store/types.js"
import { until } from "../../until.js"
import { type ContractContext, day, newSession, newUser, oddExtra, oddText, range } from "../context.js"
import { origin, sessionsOfUser } from "./sessions-of-user.js"

/** Declares the tests of the lists of sessions by callers without their tokens. */
export function sessionListContract(context: ContractContext): void {
  const { newCaller, create, listed } = sessionsOfUser(context)

  describe("list and get", () => {
    test("return all fields of a session as they were given, except its token", async () => {
      const caller = await newCaller()
      const { sessions } = context.store
      const { sessionToken, ...given } = newSession("u", Date.UTC(2031, 0, 2, 3, 4, 5, 678), { extra: oddExtra })
      const { id } = await sessions.create(caller, { ...given, sessionToken }, origin)
      expect(id).toMatch(/^[0-9A-F]{32}$/)
      const now = new Date(context.clock.now)
      const session = { ...given, ...origin, id, created: now, lastSeen: now }
      expect(await context.other.sessions.get(caller, id as string)).toEqual(session)
      expect((await context.other.sessions.list(caller, { userId: "u" }, { size: 9 })).items).toEqual([session])
      expect((await sessions.getWithUser(caller, sessionToken))?.session.id).toBe(id)
      const [row] = await context.database.sql("SELECT * FROM sessions WHERE tenant = ?", [caller.tenant])
      expect(row).toMatchObject({ id, ip: origin.ip, user_agent: oddText, created: context.clock.now })
    })

    test("a change of the session does not change its origin and its id", async () => {
      const caller = await newCaller()
      const { sessions } = context.store
      const { sessionToken, id = "" } = await sessions.create(caller, newSession("u", context.clock.now + day), origin)
      const before = await sessions.get(caller, id)
      const updated = await sessions.update(caller, sessionToken, { expires: new Date(context.clock.now + 2 * day) })
      expect(updated?.id).toBe(id)
      expect(await sessions.get(caller, id)).toEqual({ ...before, expires: updated?.expires })
      expect(await sessions.delete(caller, sessionToken)).toMatchObject({ id })
      expect(await sessions.get(caller, id)).toBeNull()
    })

    test.each([1, 2, 16, 17, 1000])("the newest come first, each on one page of %d", async (size) => {
      const caller = await newCaller()
      const ids = await create(caller, ...range(17).map((n) => ({ afterMs: n >> 2 })))
      const groups = range(5).map((n) => ids.slice(4 * n, 4 * n + 4).sort())
      expect(await listed(caller, {}, size)).toEqual(groups.flat().reverse())
    })

    test("filters: expired or not, provider, time of creation", async () => {
      const caller = await newCaller()
      const { now } = context.clock
      const last = Date.parse("9999-12-31T23:59:59.999Z")
      const [a, b, c, d] = await create(
        caller,
        { expires: now - 1, provider: "p" },
        { afterMs: 1, expires: now, provider: "P" },
        { afterMs: 2, expires: last, provider: "p" },
        { afterMs: 3, expires: Date.parse("1000-01-01T00:00:00Z") },
      )
      const filters: [Omit<SessionFilter, "userId">, (string | undefined)[]][] = [
        [{}, [d, c, b, a]],
        [{ active: true }, [c, b]],
        [{ active: false }, [d, a]],
        [{ provider: "p" }, [c, a]],
        [{ provider: "p", active: true }, [c]],
        [{ provider: "none" }, []],
        [{ createdSince: new Date(now + 2) }, [d, c]],
        [{ createdSince: new Date(now + 9) }, []],
      ]
      for (const [filter, ids] of filters) {
        expect([filter, await listed(caller, filter)]).toEqual([filter, ids])
        expect(await listed(caller, filter, 1)).toEqual(ids)
      }
    })

    test("return sessions of one user in one tenant only", async () => {
      const [mine, theirs] = [await newCaller(), await newCaller()]
      await context.store.users.create(mine, newUser({ id: "U" }))
      await context.store.sessions.create(mine, newSession("U", context.clock.now + day))
      const [id] = await create(mine, {})
      expect(await listed(mine)).toEqual([id])
      expect(await listed(theirs)).toEqual([])
      expect(await context.store.sessions.get(theirs, id as string)).toBeNull()
      expect(await context.store.sessions.revoke(theirs, id as string)).toBeNull()
      expect(await context.store.sessions.revokeOfUser(theirs, "u", {})).toBe(0)
      expect(await context.store.sessions.revokeOfUsers(theirs, ["u"])).toEqual({ processed: 1, revoked: 0 })
      expect(await listed(mine)).toEqual([id])
    })
  })

  test("the time of a session's last use is written after the answer, once a minute", async () => {
    const caller = await newCaller()
    const { clock } = context
    const { sessions } = context.store
    const start = clock.now
    const lastSeen = async ({ id = "" }) => (await context.other.sessions.get(caller, id))?.lastSeen?.getTime()
    try {
      const first = await sessions.create(caller, newSession("u", start + day))
      clock.now = start + 1
      const second = await sessions.create(caller, newSession("u", start + day))
      clock.now = start + 60_000
      // Both would be written in one batch. So once the due one is written, the other one would be written too.
      for (const { sessionToken } of [second, first]) await sessions.getWithUser(caller, sessionToken)
      await until(async () => (await lastSeen(first)) === start + 60_000)
      expect(await lastSeen(second)).toBe(start + 1)
      // It is also written for a session that was imported without one.
      await context.database.sql("UPDATE sessions SET last_seen = NULL WHERE tenant = ?", [caller.tenant])
      expect(await lastSeen(second)).toBeUndefined()
      await sessions.getWithUser(caller, second.sessionToken)
      await until(async () => (await lastSeen(second)) === start + 60_000)
      expect(await lastSeen(first)).toBeUndefined()
    } finally {
      clock.now = start
    }
  })
}
