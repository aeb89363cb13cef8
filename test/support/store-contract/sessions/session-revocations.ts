import { describe, expect, test } from "@jest/globals"
import type { KeptSessions } from "../../../../server/src/store/types.js"
import { type ContractContext, day, newSession, newUser, range } from "../context.js"
import { addSessions, idOfMany, manySessions, origin, sessionsOfUser } from "./sessions-of-user.js"

/** Declares the tests of the revocations of sessions by callers without their tokens. */
export function sessionRevocationContract(context: ContractContext): void {
  const { newCaller, create, listed } = sessionsOfUser(context)

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
    test.each<[string, KeptSessions, number]>([
      ["all", {}, 0],
      ["all but one in their middle", { id: idOfMany("u", 1000) }, 1],
    ])("%s are revoked, some at a time", async (_, kept, left) => {
      const caller = await newCaller()
      await addSessions(context, caller.tenant, "u")
      expect(await context.store.sessions.revokeOfUser(caller, "u", kept)).toBe(manySessions - left)
      expect(await listed(caller)).toEqual(left === 0 ? [] : [kept.id])
      expect(await context.store.sessions.revokeOfUser(caller, "u", kept)).toBe(0)
    })

    test("revokeOfUsers revokes and counts all of them before it stops", async () => {
      const caller = await newCaller()
      await addSessions(context, caller.tenant, "u")
      await context.store.users.create(caller, newUser({ id: "v" }))
      await context.store.sessions.create(caller, newSession("v", context.clock.now + day))
      const { sessions } = context.store
      expect(await sessions.revokeOfUsers(caller, ["v", "u"])).toEqual({ processed: 2, revoked: manySessions + 1 })
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

    test("works with an idempotency key", async () => {
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
      await addSessions(context, caller.tenant, "u", 1000)
      await context.store.sessions.create(caller, newSession("user 19", context.clock.now + day))
      expect(await context.store.sessions.revokeOfUsers(caller, ids)).toEqual({ processed: 1, revoked: 1000 })
      expect(await context.store.sessions.revokeOfUsers(caller, ids.slice(1))).toEqual({ processed: 20, revoked: 1 })
    })
  })
}
