import { describe, expect, test } from "@jest/globals"
import type { Session } from "../../../../server/src/store/types.js"
import { type ContractContext, createTenant, day, expiredRows, newId, newSession, newUser } from "../context.js"

/** The end of all sessions of a tenant: `revokeAll`. */
export function signOutOfAllContract(context: ContractContext): void {
  type Tenant = { tenant: string }
  async function newTenant(): Promise<Tenant> {
    const caller = await createTenant(context)
    await context.store.users.create(caller, newUser({ id: "u" }))
    return caller
  }
  const signIn = (caller: Tenant, origin = {}): Promise<Session> =>
    context.store.sessions.create(caller, newSession("u", context.clock.now + day), origin)
  const isFound = async (caller: Tenant, { sessionToken }: Session) =>
    (await context.other.sessions.getWithUser(caller, sessionToken)) !== null
  const tick = () => {
    context.clock.now += 1
  }
  const rowsOf = async ({ tenant }: Tenant) =>
    (await context.database.sql("SELECT id FROM sessions WHERE tenant = ?", [tenant])).map(({ id }) => id)
  const marksOf = ({ tenant }: Tenant) =>
    context.database.sql("SELECT provider, revoked_before FROM session_policies WHERE tenant = ? ORDER BY provider", [
      tenant,
    ])

  describe("revokeAll", () => {
    test("ends every session of the tenant that exists, and no later one, and no one of another tenant", async () => {
      const [caller, another] = [await newTenant(), await newTenant()]
      const { store, other, clock } = context
      const [session, foreign] = [await signIn(caller), await signIn(another)]
      expect(await store.sessions.revokeAll(caller, {})).toEqual(new Date(clock.now + 1))
      tick()
      const later = await signIn(caller)
      expect(await isFound(caller, session)).toBe(false)
      const { sessionToken } = session
      expect(await other.sessions.access(caller, sessionToken, { maxAge: 9 * day, updateAge: 0 })).toBeNull()
      expect(await other.sessions.update(caller, sessionToken, { expires: new Date(clock.now + 9 * day) })).toBeNull()
      expect(await isFound(caller, later)).toBe(true)
      expect(await isFound(another, foreign)).toBe(true)
      expect(later.expires).toEqual(new Date(clock.now + day))
    })

    test("writes one row, and lists show the sessions as expired, until they expire", async () => {
      const caller = await newTenant()
      const { store, other, clock } = context
      const session = await signIn(caller)
      tick()
      await store.sessions.revokeAll(caller, {})
      tick()
      expect(await rowsOf(caller)).toEqual([session.id])
      const mark = clock.now
      expect(await marksOf(caller)).toEqual([{ provider: "", revoked_before: mark }])
      const listed = async (active?: boolean) =>
        (await other.sessions.list(caller, { userId: "u", active }, { size: 9 })).items
      expect(await listed(true)).toEqual([])
      expect(await listed(false)).toMatchObject([{ id: session.id, expires: new Date(mark - 2) }])
      expect(await listed()).toHaveLength(1)
      const counted = (active: boolean) => other.sessions.count(caller, { active })
      expect([await counted(true), await counted(false)]).toEqual([0, 1])
      const before = new Date(session.expires.getTime() + 1)
      const span = { from: session.expires, before, limit: 1_000 }
      while ((await expiredRows(store, "sessions").deleteBatch({}, span)) !== null);
      expect(await rowsOf(caller)).toEqual([])
      expect(await marksOf(caller)).toEqual([{ provider: "", revoked_before: mark }])
    })

    test("created before a time: not those from that time on; a later mark stays", async () => {
      const caller = await newTenant()
      const { store, clock } = context
      const old = await signIn(caller)
      tick()
      const createdBefore = new Date(clock.now)
      const young = await signIn(caller)
      tick()
      expect(await store.sessions.revokeAll(caller, { createdBefore })).toEqual(createdBefore)
      expect([await isFound(caller, old), await isFound(caller, young)]).toEqual([false, true])
      const all = await store.sessions.revokeAll(caller, {})
      expect(await store.sessions.revokeAll(caller, { createdBefore })).toEqual(all)
      expect(await isFound(caller, young)).toBe(false)
      const future = store.sessions.revokeAll(caller, { createdBefore: new Date(clock.now + 1) })
      await expect(future).rejects.toMatchObject({ reason: "INVALID_FIELD", field: "created_before" })
    })

    test("of a provider: only its sessions end, in reads and lists", async () => {
      const caller = await newTenant()
      const origins = [{ provider: "github" }, { provider: "google" }, { provider: "GitHub" }, {}]
      const sessions = await Promise.all(origins.map((origin) => signIn(caller, origin)))
      await context.store.sessions.revokeAll(caller, { provider: "github" })
      tick()
      const found = await Promise.all(sessions.map((session) => isFound(caller, session)))
      expect(found).toEqual([false, true, true, true])
      const page = await context.other.sessions.list(caller, { userId: "u", active: false }, { size: 9 })
      expect(page.items.map(({ id }) => id)).toEqual([sessions[0]?.id])
      expect(await marksOf(caller)).toEqual([{ provider: "github", revoked_before: expect.anything() }])
    })

    test("keeps the policy, which keeps it", async () => {
      const caller = await newTenant()
      const { store, other } = context
      const session = await signIn(caller)
      await store.sessionPolicies.update(caller, { maxAge: day })
      await store.sessions.revokeAll(caller, {})
      expect(await other.sessionPolicies.get(caller)).toEqual({ maxAge: day })
      await store.sessionPolicies.update(caller, { maxAge: 2 * day })
      expect(await isFound(caller, session)).toBe(false)
    })

    test("adds one event, in the transaction of Store.once too", async () => {
      const caller = await newTenant()
      const { store, other } = context
      const session = await signIn(caller)
      const request = { owner: "o", key: newId(), digest: () => "d" }
      await store.once(caller, request, async (transaction) => {
        await store.sessions.revokeAll({ ...caller, transaction }, { provider: "p" })
        return Buffer.from("answer")
      })
      await store.sessions.revokeAll(caller, {})
      await other.events.sequence(caller)
      const events = await other.events.read(caller, { after: 0, limit: 9 })
      expect(events.map(({ kind, provider }) => [kind, provider])).toEqual([
        ["user.created", undefined],
        ["session.created", undefined],
        ["all_sessions.revoked", "p"],
        ["all_sessions.revoked", undefined],
      ])
      expect(await isFound(caller, session)).toBe(false)
    })
  })
}
