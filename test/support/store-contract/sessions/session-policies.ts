import { describe, expect, test } from "@jest/globals"
import { sessionPolicyEtag } from "../../../../server/src/store/etag.js"
import type { Session, SessionPolicy, SessionPolicyPatch } from "../../../../server/src/store/types.js"
import { type ContractContext, createTenant, day, newId, newSession, newUser, outcomes, range } from "../context.js"

const minute = 60_000
const hour = 60 * minute

export function sessionPolicyContract(context: ContractContext): void {
  /** Creates a tenant with a user `u`. */
  async function tenantWith(policy: SessionPolicyPatch = {}) {
    const caller = await createTenant(context)
    await context.store.users.create(caller, newUser({ id: "u" }))
    if (Object.keys(policy).length > 0) await context.store.sessionPolicies.update(caller, policy)
    return caller
  }
  const signIn = (caller: { tenant: string }, lasts = 30 * day): Promise<Session> =>
    context.store.sessions.create(caller, newSession("u", context.clock.now + lasts))
  const expiryIn = async ({ tenant }: { tenant: string }, id: unknown) => {
    const rows = await context.database.sql("SELECT expires FROM sessions WHERE tenant = ? AND id = ?", [tenant, id])
    return rows[0]?.expires
  }
  /** The clocks of both stores are set forward for the work. */
  async function after<T>(ms: number, work: () => Promise<T>): Promise<T> {
    context.clock.now += ms
    try {
      return await work()
    } finally {
      context.clock.now -= ms
    }
  }
  const isFound = async (caller: { tenant: string }, { sessionToken }: Session, store = context.other) =>
    (await store.sessions.getWithUser(caller, sessionToken)) !== null
  const later = (ms: number) => new Date(context.clock.now + ms)

  describe("the policy of a tenant", () => {
    const whole: SessionPolicy = { maxAge: day, idleTimeout: hour, maxSessions: 5, atLimit: "reject_new" }

    test("has no rules at first; keeps each rule that is not named; removes one that is null", async () => {
      const caller = await tenantWith()
      const { store, other } = context
      expect(await other.sessionPolicies.get(caller)).toEqual({})
      expect(await store.sessionPolicies.update(caller, whole)).toEqual(whole)
      expect(await other.sessionPolicies.get(caller)).toEqual(whole)
      const { maxAge: _, ...rest } = { ...whole, maxSessions: 7 }
      expect(await store.sessionPolicies.update(caller, { maxAge: null, maxSessions: 7 })).toEqual(rest)
      expect(await other.sessionPolicies.get(caller)).toEqual(rest)
      expect(await other.sessionPolicies.get({ tenant: newId() })).toEqual({})
      const row = { provider: "", max_age: null, idle_timeout: hour, max_sessions: 7, at_limit: "reject_new" }
      const marks = { tenant: caller.tenant, revoked_before: null }
      const select = "SELECT * FROM session_policies WHERE tenant = ?"
      expect(await context.database.sql(select, [caller.tenant])).toEqual([{ ...row, ...marks }])
    })

    test("with a stale etag nothing is written; of concurrent changes with one etag one succeeds", async () => {
      const caller = await tenantWith()
      const { store, other } = context
      const etag = sessionPolicyEtag({})
      const changes = range(10).map((n) =>
        (n % 2 ? store : other).sessionPolicies.update(caller, { maxSessions: n + 1 }, { etag }),
      )
      expect(await outcomes(changes)).toEqual({ ok: 1, STALE_ETAG: 9 })
      const stored = await store.sessionPolicies.get(caller)
      await store.sessionPolicies.update(caller, { maxAge: day }, { etag: sessionPolicyEtag(stored) })
      expect(await other.sessionPolicies.get(caller)).toEqual({ ...stored, maxAge: day })
    })

    test("a change adds an event, also one that changes nothing", async () => {
      const caller = await tenantWith()
      const { store, other } = context
      await store.sessionPolicies.update(caller, { maxAge: day })
      await store.sessionPolicies.update(caller, { maxAge: day })
      await other.events.sequence(caller)
      const events = await other.events.read(caller, { after: 0, limit: 10 })
      expect(events.map(({ kind }) => kind)).toEqual([
        "user.created",
        "session_policy.updated",
        "session_policy.updated",
      ])
    })

    test("can be changed in Store.once", async () => {
      const caller = await tenantWith()
      const { store } = context
      const request = { owner: "o", key: newId(), digest: () => "d" }
      await store.once(caller, request, async (transaction) => {
        await store.sessionPolicies.update({ ...caller, transaction }, whole)
        return Buffer.from("answer")
      })
      expect(await context.other.sessionPolicies.get(caller)).toEqual(whole)
    })
  })

  describe("the absolute lifetime", () => {
    test("clamps the expiry of a session that is created or updated, and of no shorter one", async () => {
      const caller = await tenantWith({ maxAge: day })
      const { other } = context
      const [long, short] = [await signIn(caller), await signIn(caller, hour)]
      expect([long.expires, short.expires]).toEqual([later(day), later(hour)])
      expect(await expiryIn(caller, long.id)).toBe(context.clock.now + day)
      expect((await other.sessions.getWithUser(caller, long.sessionToken))?.session).toEqual(long)
      await after(hour / 2, async () => {
        const expires = later(30 * day)
        expect(await other.sessions.update(caller, short.sessionToken, { expires })).toMatchObject({
          expires: new Date(context.clock.now - hour / 2 + day),
        })
        expect(await expiryIn(caller, short.id)).toBe(context.clock.now - hour / 2 + day)
        const earlier = later(hour)
        const updated = await other.sessions.update(caller, long.sessionToken, { expires: earlier })
        expect(updated?.expires).toEqual(earlier)
      })
    })

    test("ends a session that is extended again and again, to the millisecond", async () => {
      const caller = await tenantWith({ maxAge: day })
      const { other } = context
      const session = await signIn(caller, hour)
      const extension = { maxAge: 2 * hour, updateAge: 0 }
      const access = () => other.sessions.access(caller, session.sessionToken, extension)
      const end = later(day)
      for (let passed = hour; passed < 22 * hour; passed += hour) {
        await after(passed, async () => {
          expect(await access()).toMatchObject({ extended: true, session: { expires: later(2 * hour) } })
        })
      }
      await after(23 * hour, async () => {
        expect(await access()).toMatchObject({ extended: true, session: { expires: end } })
        expect(await access()).toMatchObject({ extended: false, session: { expires: end } })
      })
      await after(day, async () => expect(await access()).toMatchObject({ extended: false, session: { expires: end } }))
      await after(day + 1, async () => {
        expect(await access()).toBeNull()
        expect(await other.sessions.update(caller, session.sessionToken, { expires: later(day) })).toBeNull()
        expect(await isFound(caller, session)).toBe(false)
      })
    })

    test("applies to existing sessions at their next read, and to lists of them", async () => {
      const caller = await tenantWith()
      const { store, other } = context
      const session = await signIn(caller)
      await after(2 * hour, async () => {
        const young = await signIn(caller)
        await store.sessionPolicies.update(caller, { maxAge: hour })
        expect((await other.sessions.getWithUser(caller, young.sessionToken))?.session.expires).toEqual(later(hour))
        const found = async (active?: boolean) =>
          (await other.sessions.list(caller, { userId: "u", active }, { size: 9 })).items.map(({ id }) => id)
        expect(await found()).toEqual([young.id, session.id])
        expect(await found(true)).toEqual([young.id])
        expect(await found(false)).toEqual([session.id])
        expect((await other.sessions.get(caller, session.id as string))?.expires).toEqual(later(-hour))
        expect(await isFound(caller, session)).toBe(false)
        // It was deleted, so it does not come back.
        await store.sessionPolicies.update(caller, { maxAge: null })
        expect(await isFound(caller, session)).toBe(false)
        expect(await isFound(caller, young)).toBe(true)
      })
    })

    test("a request for an extension beyond it writes nothing and adds no event", async () => {
      const caller = await tenantWith({ maxAge: day })
      const { store, other } = context
      const session = await signIn(caller)
      const count = async () => {
        await other.events.sequence(caller)
        return (await other.events.read(caller, { after: 0, limit: 99 })).length
      }
      const before = await count()
      expect(await store.sessions.update(caller, session.sessionToken, { expires: later(9 * day) })).toEqual(session)
      expect(await count()).toBe(before)
      await store.sessions.update(caller, session.sessionToken, { expires: later(9 * day), extra: { a: 1 } })
      expect(await count()).toBe(before + 1)
    })

    test("of another tenant has no effect", async () => {
      await tenantWith({ maxAge: hour, idleTimeout: hour })
      const session = await signIn(await tenantWith())
      expect(session.expires).toEqual(later(30 * day))
    })
  })

  describe("the idle timeout", () => {
    test("ends a session after its last recorded use, to the millisecond", async () => {
      const caller = await tenantWith({ idleTimeout: hour })
      const session = await signIn(caller)
      expect(session.expires).toEqual(later(30 * day))
      await after(hour, async () => {
        // The use is recorded later, or lost. An update records it in its transaction.
        await context.other.sessions.update(caller, session.sessionToken, { extra: { a: 1 } })
      })
      await after(2 * hour, async () => {
        expect((await context.other.sessions.get(caller, session.id as string))?.expires).toEqual(later(0))
        expect(await context.other.sessions.update(caller, session.sessionToken, {})).not.toBeNull()
      })
      await after(3 * hour + 1, async () => {
        expect(await context.store.sessions.update(caller, session.sessionToken, { extra: { b: 1 } })).toBeNull()
        expect(
          await context.store.sessions.access(caller, session.sessionToken, { maxAge: day, updateAge: 0 }),
        ).toBeNull()
      })
      expect(await isFound(caller, session)).toBe(false)
    })

    test("of a session that was never seen begins with its creation", async () => {
      const caller = await tenantWith()
      const sessions = [await signIn(caller), await signIn(caller)]
      await context.database.sql("UPDATE sessions SET last_seen = NULL WHERE tenant = ?", [caller.tenant])
      await context.store.sessionPolicies.update(caller, { idleTimeout: hour })
      await after(hour, async () => expect(await isFound(caller, sessions[0] as Session)).toBe(true))
      await after(hour + 1, async () => expect(await isFound(caller, sessions[1] as Session)).toBe(false))
    })

    test("a session that was used after it was read as idle is not deleted", async () => {
      const caller = await tenantWith({ idleTimeout: hour })
      const session = await signIn(caller)
      const { database } = context
      const seen = context.clock.now + hour
      await after(hour + 1, async () => {
        await database.sql("BEGIN")
        await database.sql("UPDATE sessions SET last_seen = ? WHERE tenant = ?", [database.moment(seen), caller.tenant])
        const met = database.lockMet()
        // In a cluster, a lock holds on its own member only.
        const read = isFound(caller, session, context.store)
        await met
        await database.sql("COMMIT")
        expect(await read).toBe(false)
        expect(await isFound(caller, session)).toBe(true)
      })
    })
  })
}
