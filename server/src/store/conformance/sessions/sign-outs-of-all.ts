import { describe, expect, test } from "@jest/globals"
import type { Session } from "../../types.js"
import { type ContractContext, day, newId, newSession, newUser, range } from "../context.js"

/** The end of all sessions of a tenant: `revokeAll`. */
export function signOutOfAllContract(context: ContractContext): void {
  type Tenant = { tenant: string }
  async function newTenant(): Promise<Tenant> {
    const caller = { tenant: newId() }
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
    context.database.sql(
      "SELECT provider, revoked_before, revoking FROM session_policies WHERE tenant = ? ORDER BY provider",
      [tenant],
    )

  /** Deletes what was revoked, of all tenants, `limit` rows in a batch. Returns the number of rows in each batch. */
  async function cleanUp(limit = 200, store = context.store): Promise<number[]> {
    const counts: number[] = []
    // Expired rows come first.
    const [, revoked] = store.expired.tables.filter(({ table }) => table === "sessions")
    // Marks wait for a second, because the clocks of processes may differ.
    const before = new Date(context.clock.now + 1_000)
    for (;;) {
      const batch = await revoked?.deleteBatch({}, { from: new Date(0), before, limit })
      if (batch == null) return counts
      counts.push(batch.count)
    }
  }

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

    test("writes one row, and lists show the sessions as expired until the cleanup", async () => {
      await cleanUp()
      const caller = await newTenant()
      const { store, other, clock } = context
      const session = await signIn(caller)
      tick()
      await store.sessions.revokeAll(caller, {})
      tick()
      expect(await rowsOf(caller)).toEqual([session.id])
      const mark = clock.now
      expect(await marksOf(caller)).toEqual([{ provider: "", revoked_before: mark, revoking: mark - 1 }])
      const listed = async (active?: boolean) =>
        (await other.sessions.list(caller, { userId: "u", active }, { size: 9 })).items
      expect(await listed(true)).toEqual([])
      expect(await listed(false)).toMatchObject([{ id: session.id, expires: new Date(mark - 2) }])
      expect(await listed()).toHaveLength(1)
      expect(await cleanUp()).toEqual([1])
      expect(await rowsOf(caller)).toEqual([])
      expect(await marksOf(caller)).toEqual([{ provider: "", revoked_before: mark, revoking: null }])
      expect(await cleanUp()).toEqual([])
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

    test("of a provider: only its sessions end, in reads, lists and the cleanup", async () => {
      await cleanUp()
      const caller = await newTenant()
      const origins = [{ provider: "github" }, { provider: "google" }, { provider: "GitHub" }, {}]
      const sessions = await Promise.all(origins.map((origin) => signIn(caller, origin)))
      await context.store.sessions.revokeAll(caller, { provider: "github" })
      tick()
      const found = await Promise.all(sessions.map((session) => isFound(caller, session)))
      expect(found).toEqual([false, true, true, true])
      const page = await context.other.sessions.list(caller, { userId: "u", active: false }, { size: 9 })
      expect(page.items.map(({ id }) => id)).toEqual([sessions[0]?.id])
      expect(await cleanUp()).toEqual([1])
      expect((await rowsOf(caller)).toSorted()).toEqual(
        sessions
          .slice(1)
          .map(({ id }) => id)
          .toSorted(),
      )
      expect(await marksOf(caller)).toMatchObject([{ provider: "github", revoking: null }])
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
      await cleanUp()
      await other.events.sequence({})
      const events = await other.events.read({}, { after: 0, limit: 9, tenant: caller.tenant })
      expect(events.map(({ kind, provider }) => [kind, provider])).toEqual([
        ["user.created", undefined],
        ["session.created", undefined],
        ["all_sessions.revoked", "p"],
        ["all_sessions.revoked", undefined],
      ])
      expect(await isFound(caller, session)).toBe(false)
    })

    test("the cleanup deletes in batches, goes on where it was, and begins again for a new mark", async () => {
      const caller = await newTenant()
      const { store } = context
      await cleanUp()
      for (const _ of range(12)) await Promise.all(range(100).map(() => signIn(caller)))
      await store.sessions.revokeAll(caller, {})
      tick()
      const kept = await signIn(caller)
      const [, revoked] = store.expired.tables.filter(({ table }) => table === "sessions")
      const before = new Date(context.clock.now + 1_000)
      const one = () => revoked?.deleteBatch({}, { from: new Date(0), before, limit: 250 })
      expect(await one()).toMatchObject({ count: 250, more: true })
      const last = await signIn(caller)
      context.clock.now += 2_000
      await store.sessions.revokeAll(caller, {})
      const counts = await cleanUp(250)
      expect(counts.reduce((sum, count) => sum + count, 0)).toBe(952)
      expect(Math.max(...counts)).toBe(250)
      expect(await rowsOf(caller)).toEqual([])
      expect([kept, last]).toHaveLength(2)
    }, 60_000)

    test("a round ends however often a caller sets marks, and deletes what the marks at its beginning have ended", async () => {
      const caller = await newTenant()
      const { store } = context
      for (const _ of range(5)) await Promise.all(range(10).map(() => signIn(caller)))
      await store.sessions.revokeAll(caller, {})
      const [, revoked] = store.expired.tables.filter(({ table }) => table === "sessions")
      const before = new Date(context.clock.now + 1_000)
      let batches = 0
      while ((await revoked?.deleteBatch({}, { from: new Date(0), before, limit: 20 })) !== null) {
        context.clock.now += 2_000
        const createdBefore = new Date(context.clock.now - 1_000_000)
        for (const provider of [undefined, "p"]) await store.sessions.revokeAll(caller, { provider })
        await store.sessions.revokeAll(caller, { provider: String(batches), createdBefore })
        expect(++batches).toBeLessThan(10)
      }
      await cleanUp()
      expect(await rowsOf(caller)).toEqual([])
      expect((await marksOf(caller)).every(({ revoking }) => revoking === null)).toBe(true)
    })

    test("of two cleanups at the same time each row is deleted once", async () => {
      await cleanUp()
      const caller = await newTenant()
      for (const _ of range(5)) await Promise.all(range(100).map(() => signIn(caller)))
      await context.store.sessions.revokeAll(caller, {})
      const counts = await Promise.all([cleanUp(50), cleanUp(50, context.other)])
      expect(counts.flat().reduce((sum, count) => sum + count, 0)).toBe(500)
      expect(await rowsOf(caller)).toEqual([])
    })
  })
}
