import { describe, expect, test } from "@jest/globals"
import type { Caller } from "../../../../server/src/store/store.js"
import type { Session, SessionPolicyPatch } from "../../../../server/src/store/types.js"
import { type ContractContext, createTenant, day, newId, newSession, newUser, outcomes, range } from "../context.js"
import { addSessions, manySessions } from "./sessions-of-user.js"

const hour = 3_600_000

/** The most sessions of a user: `maxSessions` of the policy. */
export function sessionLimitContract(context: ContractContext): void {
  async function tenantWith(policy: SessionPolicyPatch) {
    const caller = await createTenant(context)
    for (const id of ["u", "v"]) await context.store.users.create(caller, newUser({ id }))
    if (Object.keys(policy).length > 0) await context.store.sessionPolicies.update(caller, policy)
    return caller
  }
  type Tenant = Pick<Caller, "tenant" | "transaction">
  const signIn = (caller: Tenant, userId = "u", lasts = day, origin = {}): Promise<Session> =>
    context.store.sessions.create(caller, newSession(userId, context.clock.now + lasts), origin)
  /** Creates sessions that are a second apart. */
  async function signInTimes(count: number, caller: Tenant, userId = "u", lasts = day): Promise<Session[]> {
    const sessions: Session[] = []
    for (const _ of range(count)) {
      context.clock.now += 1_000
      sessions.push(await signIn(caller, userId, lasts))
    }
    return sessions
  }
  const idsOf = async ({ tenant }: Tenant, userId = "u") => {
    const select = "SELECT id FROM sessions WHERE tenant = ? AND user_id = ? ORDER BY created, id"
    return (await context.database.sql(select, [tenant, userId])).map(({ id }) => id)
  }
  const ids = (sessions: readonly Session[]) => sessions.map(({ id }) => id)

  describe("the most sessions", () => {
    test("the oldest go, also those from before the policy, which alone deletes none", async () => {
      const caller = await tenantWith({})
      const [mine, others] = [await signInTimes(4, caller), await signInTimes(4, caller, "v")]
      await context.store.sessionPolicies.update(caller, { maxSessions: 2 })
      expect(await idsOf(caller)).toEqual(ids(mine))
      const [next] = await signInTimes(1, caller)
      expect(await idsOf(caller)).toEqual(ids([mine[3] as Session, next as Session]))
      expect(await idsOf(caller, "v")).toEqual(ids(others))
      const [last] = await signInTimes(1, caller)
      expect(await idsOf(caller)).toEqual(ids([next as Session, last as Session]))
    })

    test("with one, each sign-in ends the session before; an event says so", async () => {
      const caller = await tenantWith({ maxSessions: 1 })
      const [first, second] = await signInTimes(2, caller)
      expect(await idsOf(caller)).toEqual([second?.id])
      expect(await context.other.sessions.getWithUser(caller, first?.sessionToken as string)).toBeNull()
      await context.other.events.sequence(caller)
      const events = await context.other.events.read(caller, { after: 3, limit: 99 })
      expect(events.slice(-2)).toMatchObject([
        { kind: "user.sessions_revoked", userId: "u" },
        { kind: "session.created", userId: "u" },
      ])
    })

    test("or the new one is rejected, and nothing is written, until one has ended", async () => {
      const caller = await tenantWith({ maxSessions: 2, atLimit: "reject_new" })
      const sessions = await signInTimes(2, caller)
      await expect(signIn(caller)).rejects.toMatchObject({ reason: "SESSION_LIMIT_REACHED" })
      expect(await idsOf(caller)).toEqual(ids(sessions))
      await signIn(caller, "v")
      await context.store.sessions.delete(caller, sessions[0]?.sessionToken as string)
      await signIn(caller)
      expect(await idsOf(caller)).toHaveLength(2)
    })

    test.each<[string, (caller: Tenant) => Promise<unknown>]>([
      [
        "expired",
        async () => {
          context.clock.now += day + 1
        },
      ],
      [
        "been idle",
        async (caller) => {
          context.clock.now += hour + 1
          await context.store.sessionPolicies.update(caller, { idleTimeout: hour })
        },
      ],
      [
        "become too old",
        async (caller) => {
          context.clock.now += hour + 1
          await context.store.sessionPolicies.update(caller, { maxAge: hour })
        },
      ],
      ["been revoked", (caller) => context.store.sessions.revokeAll(caller, {})],
      ["been revoked by provider", (caller) => context.store.sessions.revokeAll(caller, { provider: "p" })],
    ])("a session that has %s does not count", async (_, end) => {
      const caller = await tenantWith({ maxSessions: 2, atLimit: "reject_new" })
      for (const _ of range(2)) await signIn(caller, "u", day, { provider: "p" })
      await expect(signIn(caller)).rejects.toMatchObject({ reason: "SESSION_LIMIT_REACHED" })
      await end(caller)
      context.clock.now += 1
      await signIn(caller)
      await context.store.sessionPolicies.update(caller, { atLimit: null })
      await signIn(caller)
      expect(
        (await context.store.sessions.list(caller, { userId: "u", active: true }, { size: 9 })).items,
      ).toHaveLength(2)
    })

    test("thousands of sessions of a user are deleted in batches, also where a process does not know the policy yet", async () => {
      const { store } = context
      const [caller, once, given, audited] = [
        await tenantWith({}),
        await tenantWith({}),
        await tenantWith({}),
        await tenantWith({}),
      ]
      for (const { tenant } of [caller, once, given, audited]) await addSessions(context, tenant, "u")
      const before = await idsOf(caller)
      expect(before).toHaveLength(manySessions)
      context.clock.now += 1_000
      const theirs = await signIn(given, "v")
      const limit = async (tenant: Tenant, maxSessions: number) => {
        await store.sessionPolicies.update(tenant, { maxSessions })
      }
      const request = () => ({ owner: "o", key: newId(), digest: () => "d" })
      const signInOnce = (tenant: Tenant) =>
        store.once(tenant, request(), async (transaction) =>
          Buffer.from(String((await signIn({ ...tenant, transaction })).id)),
        )

      await limit(caller, 1_000)
      expect(await idsOf(caller)).toHaveLength(manySessions)
      const newest = await signInTimes(1, caller)
      expect(await idsOf(caller)).toEqual([...before.slice(-999), ...ids(newest)])
      await limit(once, 3)
      const answer = await signInOnce(once)
      expect(await idsOf(once)).toEqual([...before.slice(-2), answer.toString()])
      await limit(audited, 3)
      const session = await store.audit.together(audited, async (transaction) => ({
        result: await signIn({ ...audited, transaction }),
        entries: [],
      }))
      expect(await idsOf(audited)).toEqual([...before.slice(-2), session.id])
      await limit(given, 2)
      await store.sessions.update(given, theirs.sessionToken, { userId: "u" })
      expect(await idsOf(given)).toEqual([...before.slice(-1), theirs.id])

      await limit(caller, 3)
      for (const _ of range(2)) await signInOnce(caller)
      const left = await idsOf(caller)
      expect(left).toHaveLength(3)
      expect(left).toContain(newest[0]?.id)
    }, 60_000)

    test("a session that is given to another user counts there", async () => {
      const caller = await tenantWith({ maxSessions: 2 })
      const [kept, given] = [await signInTimes(2, caller, "v"), await signIn(caller)]
      await context.store.sessions.update(caller, given.sessionToken, { userId: "v" })
      expect((await idsOf(caller, "v")).toSorted()).toEqual(ids([kept[1] as Session, given]).toSorted())
      await context.store.sessionPolicies.update(caller, { atLimit: "reject_new" })
      const more = await signIn(caller)
      const refused = context.store.sessions.update(caller, more.sessionToken, { userId: "v" })
      await expect(refused).rejects.toMatchObject({ reason: "SESSION_LIMIT_REACHED" })
      // Its own sessions are no obstacle.
      const own = { userId: "v", extra: { a: 1 } }
      expect(await context.store.sessions.update(caller, given.sessionToken, own)).toMatchObject(own)
    })

    test("a policy is obeyed by a process that has not read it, and its end too", async () => {
      const caller = await tenantWith({})
      const { store, other, clock } = context
      await other.sessions.create(caller, newSession("u", clock.now + day))
      await store.sessionPolicies.update(caller, { maxSessions: 1 })
      await other.sessions.create(caller, newSession("u", clock.now + day))
      expect(await idsOf(caller)).toHaveLength(1)
      await store.sessionPolicies.update(caller, { maxSessions: null })
      for (const _ of range(2)) await other.sessions.create(caller, newSession("u", clock.now + day))
      expect(await idsOf(caller)).toHaveLength(3)
    })

    test("in Store.once", async () => {
      const caller = await tenantWith({ maxSessions: 1 })
      const { store, clock } = context
      const request = () => ({ owner: "o", key: newId(), digest: () => "d" })
      for (const _ of range(2)) {
        await store.once(caller, request(), async (transaction) => {
          await store.sessions.create({ ...caller, transaction }, newSession("u", clock.now + day))
          return Buffer.from("answer")
        })
      }
      expect(await idsOf(caller)).toHaveLength(1)
    })

    test("an unknown and a disabled user fail as without a policy", async () => {
      const caller = await tenantWith({ maxSessions: 2 })
      await context.store.users.disable(caller, "v", {})
      await expect(signIn(caller, "nobody")).rejects.toMatchObject({ reason: "USER_NOT_FOUND" })
      await expect(signIn(caller, "v")).rejects.toMatchObject({ reason: "USER_DISABLED" })
      const taken = await signIn(caller)
      const again = context.store.sessions.create(caller, newSession("u", context.clock.now + day, taken))
      await expect(again).rejects.toMatchObject({ reason: "SESSION_ALREADY_EXISTS" })
      expect(await idsOf(caller)).toEqual([taken.id])
    })

    test.each(["end_oldest", "reject_new"] as const)(
      "S-55: 200 sign-ins of one user on two processes leave 5: %s",
      async (atLimit) => {
        const caller = await tenantWith({ maxSessions: 5, atLimit })
        const { store, other, clock } = context
        const sessions = range(200).map(() => newSession("u", clock.now + day))
        const created = sessions.map((session, n) => (n % 2 ? store : other).sessions.create(caller, session))
        const { ok = 0, SESSION_LIMIT_REACHED = 0, ...rest } = await outcomes(created)
        expect([ok, SESSION_LIMIT_REACHED]).toEqual(atLimit === "end_oldest" ? [200, 0] : [5, 195])
        expect(rest).toEqual({})
        expect(await idsOf(caller)).toHaveLength(5)
      },
      60_000,
    )
  })
}
