import { createHash } from "node:crypto"
import { until } from "@authwire/test-support/until.js"
import { describe, expect, test } from "@jest/globals"
import type { KeptSessions, ListedSession, SessionFilter, SessionOrigin } from "../../types.js"
import { type ContractContext, day, newId, newSession, newUser, oddExtra, oddText, range } from "../context.js"
import { allPages, brokenTokens } from "../pages.js"

const origin: SessionOrigin = {
  ip: "2001:db8::1",
  userAgent: oddText,
  authMethod: "passkey",
  provider: "Provider é ",
  impersonator: "Staff/é ",
}

/** Declares the tests of the lists and revocations of sessions by callers without their tokens. */
export function sessionListContract(context: ContractContext): void {
  /** Creates a tenant with a user. */
  const newCaller = async () => {
    const caller = { tenant: newId() }
    await context.store.users.create(caller, newUser({ id: "u" }))
    return caller
  }
  /** Creates sessions of the user, each `afterMs` milliseconds from now. Returns their ids. */
  async function create(
    caller: { tenant: string },
    ...given: { afterMs?: number; expires?: number; provider?: string }[]
  ) {
    const { clock } = context
    const start = clock.now
    const ids: string[] = []
    try {
      for (const { afterMs = 0, expires = start + day, provider } of given) {
        clock.now = start + afterMs
        ids.push((await context.store.sessions.create(caller, newSession("u", expires), { provider })).id as string)
      }
    } finally {
      clock.now = start
    }
    return ids
  }
  const idsOf = (items: ListedSession[]) => items.map(({ id }) => id)
  const listed = async (caller: { tenant: string }, filter: Omit<SessionFilter, "userId"> = {}, size = 1000) =>
    idsOf(
      (await allPages(size, (page) => context.other.sessions.list(caller, { ...filter, userId: "u" }, page))).flat(),
    )

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

    test("INVALID_FIELD: a page token that is broken, or of another filter, user or tenant", async () => {
      const [mine, theirs] = [await newCaller(), await newCaller()]
      await create(mine, {}, {})
      const { list } = context.other.sessions
      const { nextToken: token = "" } = await context.store.sessions.list(mine, { userId: "u" }, { size: 1 })
      expect((await list(mine, { userId: "u" }, { size: 1, token })).items).toHaveLength(1)
      const invalid = { reason: "INVALID_FIELD", field: "page_token" }
      for (const [, broken] of brokenTokens(token)) {
        await expect(list(mine, { userId: "u" }, { size: 1, token: broken })).rejects.toMatchObject(invalid)
      }
      const filters: SessionFilter[] = [
        { userId: "v" },
        { userId: "u", active: false },
        { userId: "u", provider: "p" },
        { userId: "u", createdSince: new Date(0) },
      ]
      for (const filter of filters) await expect(list(mine, filter, { size: 1, token })).rejects.toMatchObject(invalid)
      await expect(list(theirs, { userId: "u" }, { size: 1, token })).rejects.toMatchObject(invalid)
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
      // It is also written for a session of an older version that did not know the column.
      await context.database.sql("UPDATE sessions SET last_seen = NULL WHERE tenant = ?", [caller.tenant])
      expect(await lastSeen(second)).toBeUndefined()
      await sessions.getWithUser(caller, second.sessionToken)
      await until(async () => (await lastSeen(second)) === start + 60_000)
      expect(await lastSeen(first)).toBeUndefined()
    } finally {
      clock.now = start
    }
  })

  describe("revoke", () => {
    test("deletes the session and returns it as it was; a second call finds none", async () => {
      const caller = await newCaller()
      const { sessionToken, id = "" } = await context.store.sessions.create(
        caller,
        newSession("u", context.clock.now + day),
        origin,
      )
      const before = await context.store.sessions.get(caller, id)
      expect(await context.store.sessions.revoke(caller, id)).toEqual(before)
      expect(await context.store.sessions.revoke(caller, id)).toBeNull()
      expect(await context.other.sessions.getWithUser(caller, sessionToken)).toBeNull()
      expect(await context.database.sql("SELECT id FROM sessions WHERE tenant = ?", [caller.tenant])).toEqual([])
    })

    test("deletes only a session of the given user, and none that was moved to another user", async () => {
      const caller = await newCaller()
      const { sessions, users } = context.store
      await users.create(caller, newUser({ id: "U" }))
      const { sessionToken, id = "" } = await sessions.create(caller, newSession("u", context.clock.now + day))
      for (const other of ["U", "nobody"]) expect(await sessions.revoke(caller, id, other)).toBeNull()
      await sessions.update(caller, sessionToken, { userId: "U" })
      expect(await sessions.revoke(caller, id, "u")).toBeNull()
      expect(await context.other.sessions.getWithUser(caller, sessionToken)).toMatchObject({ session: { id } })
      expect(await sessions.revoke(caller, id, "U")).toMatchObject({ id, userId: "U" })
      expect(await sessions.revoke(caller, id, "U")).toBeNull()
    })

    test("one of 20 concurrent calls returns it", async () => {
      const caller = await newCaller()
      const [id = ""] = await create(caller, {})
      const all = range(20).map((n) => (n % 2 ? context.store : context.other).sessions.revoke(caller, id))
      expect((await Promise.all(all)).filter((session) => session !== null)).toHaveLength(1)
    })
  })

  describe("revokeOfUser", () => {
    test.each<[string, (session: { id: string; sessionToken: string }) => KeptSessions, number]>([
      ["all", () => ({}), 0],
      ["all but one by its id", ({ id }) => ({ id }), 1],
      ["all but one by its token", ({ sessionToken }) => ({ sessionToken }), 1],
      ["all but one by both", (session) => session, 1],
      ["all but one where nothing has the token", ({ id }) => ({ id, sessionToken: "0" }), 1],
      ["all where nothing has the id", () => ({ id: "0" }), 0],
      ["all where nothing has the token", () => ({ sessionToken: "0" }), 0],
    ])("deletes %s, and says how many", async (_, keptOf, left) => {
      const caller = await newCaller()
      await create(caller, {}, { expires: 0 }, {})
      const kept = await context.store.sessions.create(caller, newSession("u", context.clock.now + day))
      const { id = "", sessionToken } = kept
      expect(await context.store.sessions.revokeOfUser(caller, "u", keptOf({ id, sessionToken }))).toBe(4 - left)
      expect(await listed(caller)).toEqual(left === 1 ? [id] : [])
      expect(await context.store.sessions.revokeOfUser(caller, "u", keptOf({ id, sessionToken }))).toBe(0)
      expect(await context.store.sessions.revokeOfUser(caller, "nobody", {})).toBe(0)
    })
  })

  describe("of a user with thousands of sessions", () => {
    const many = 2500
    /** Creates sessions of the user with two different times of creation. */
    async function createMany(caller: { tenant: string }) {
      const columns = "tenant, token_hash, user_id, expires, extra, id, created"
      const { clock, database } = context
      for (let from = 0; from < many; from += 500) {
        const rows = range(500).map((n) => [
          ...[
            caller.tenant,
            createHash("sha256")
              .update(`${caller.tenant} ${from + n}`)
              .digest(),
          ],
          ...["u", database.moment(clock.now + day), "{}", `${from + n}`.padStart(32, "0")],
          database.moment(clock.now - (from < 1500 ? 1 : 2)),
        ])
        const values = rows.map(() => "(?, ?, ?, ?, ?, ?, ?)").join(", ")
        await database.sql(`INSERT INTO sessions (${columns}) VALUES ${values}`, rows.flat())
      }
    }

    test.each<[string, KeptSessions, number]>([
      ["all", {}, 0],
      ["all but the oldest", { id: "1500".padStart(32, "0") }, 1],
      ["all but one in their middle", { id: "1000".padStart(32, "0") }, 1],
    ])("%s are revoked, some at a time", async (_, kept, left) => {
      const caller = await newCaller()
      await createMany(caller)
      expect(await context.store.sessions.revokeOfUser(caller, "u", kept)).toBe(many - left)
      expect(await listed(caller)).toEqual(left === 0 ? [] : [kept.id])
      expect(await context.store.sessions.revokeOfUser(caller, "u", kept)).toBe(0)
    })

    test("revokeOfUsers revokes and counts all of them before it stops", async () => {
      const caller = await newCaller()
      await createMany(caller)
      await context.store.users.create(caller, newUser({ id: "v" }))
      await context.store.sessions.create(caller, newSession("v", context.clock.now + day))
      const { sessions } = context.store
      expect(await sessions.revokeOfUsers(caller, ["v", "u"])).toEqual({ processed: 2, revoked: many + 1 })
      expect(await listed(caller)).toEqual([])
    })
  })

  describe("revokeOfUsers", () => {
    test("deletes the sessions of the users only, even if a user is named twice", async () => {
      const caller = await newCaller()
      const ids = range(45).map((n) => `user ${n}`)
      for (const id of ids) {
        await context.store.users.create(caller, newUser({ id }))
        await context.store.sessions.create(caller, newSession(id, context.clock.now + day))
      }
      const [id] = await create(caller, {})
      const named = [...ids, "nobody", ids[0] as string]
      expect(await context.store.sessions.revokeOfUsers(caller, named)).toEqual({ processed: 47, revoked: 45 })
      const left = await context.database.sql("SELECT id FROM sessions WHERE tenant = ?", [caller.tenant])
      expect(left).toEqual([{ id }])
      expect(await context.store.sessions.revokeOfUsers(caller, named)).toEqual({ processed: 47, revoked: 0 })
    })

    test("works with an idempotency key, for more users than one statement takes", async () => {
      const caller = await newCaller()
      const ids = range(45).map((n) => `user ${n}`)
      for (const id of ids) {
        await context.store.users.create(caller, newUser({ id }))
        await context.store.sessions.create(caller, newSession(id, context.clock.now + day))
      }
      const revoke = () =>
        context.store.once(caller, { owner: "owner", key: "key", digest: () => "" }, async (transaction) => {
          const { processed, revoked } = await context.store.sessions.revokeOfUsers({ ...caller, transaction }, ids)
          return Buffer.from(`${processed} ${revoked}`)
        })
      for (const _ of [1, 2]) expect(String(Buffer.from(await revoke()))).toBe("45 45")
    })

    test("stops when many sessions are deleted, and the next call continues", async () => {
      const caller = await newCaller()
      const ids = ["u", ...range(20).map((n) => `user ${n}`)]
      for (const id of ids.slice(1)) await context.store.users.create(caller, newUser({ id }))
      const end = new Date(context.clock.now + day)
      const extra = {}
      const all = range(1000).map((n) => ({ sessionToken: `${n}`, userId: "u", expires: end, extra }))
      for (const session of all) await context.store.sessions.create(caller, session)
      await context.store.sessions.create(caller, newSession("user 19", context.clock.now + day))
      expect(await context.store.sessions.revokeOfUsers(caller, ids)).toEqual({ processed: 20, revoked: 1000 })
      expect(await context.store.sessions.revokeOfUsers(caller, ids.slice(20))).toEqual({ processed: 1, revoked: 1 })
    })
  })
}
