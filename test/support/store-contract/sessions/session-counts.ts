import { afterEach, beforeEach, describe, expect, test } from "@jest/globals"
import type { SessionCountFilter } from "../../../../server/src/store/types.js"
import { type ContractContext, createTenant, day, newSession, newUser, range } from "../context.js"

/** The number of the sessions of a tenant: `count`. */
export function sessionCountContract(context: ContractContext): void {
  const newTenant = async () => {
    const caller = await createTenant(context)
    await context.store.users.create(caller, newUser({ id: "u" }))
    return caller
  }
  type Tenant = Awaited<ReturnType<typeof newTenant>>
  /** Creates sessions that last for so many days, a millisecond apart. Returns when the first one was created. */
  const signIn = async (caller: Tenant, ...lasting: number[]) => {
    const first = context.clock.now
    for (const days of lasting) {
      await context.store.sessions.create(caller, newSession("u", context.clock.now + days * day))
      context.clock.now++
    }
    return (n: number) => new Date(first + n)
  }
  const count = (caller: Tenant, filter: Partial<SessionCountFilter> = {}) =>
    context.other.sessions.count(caller, { active: false, ...filter })

  describe("count", () => {
    let startedAt: number
    beforeEach(() => {
      startedAt = context.clock.now
    })
    afterEach(() => {
      context.clock.now = startedAt
    })

    test("counts the tenant's sessions, those that have expired too, by their creation", async () => {
      const [caller, another] = [await newTenant(), await newTenant()]
      expect([await count(caller), await count(caller, { active: true })]).toEqual([0, 0])
      const at = await signIn(caller, 1, 3, 1, 3, 3)
      await signIn(another, 1)
      expect(await count(caller)).toBe(5)
      for (const [filter, expected] of [
        [{ createdSince: at(1) }, 4],
        [{ createdBefore: at(4) }, 4],
        [{ createdSince: at(1), createdBefore: at(3) }, 2],
        [{ createdSince: at(3), createdBefore: at(3) }, 0],
        [{ createdSince: at(5) }, 0],
      ] as const)
        expect([filter, await count(caller, filter)]).toEqual([filter, expected])
      context.clock.now += 2 * day
      expect([await count(caller), await count(caller, { active: true })]).toEqual([5, 3])
      expect(await count(caller, { active: true, createdBefore: at(2) })).toBe(1)
      expect(await count(another, { active: true })).toBe(0)
    })

    test("counts the active ones across slices, each once, as the list has them", async () => {
      const caller = await newTenant()
      const now = context.clock.now
      const rows = range(2_300).map((n) => {
        const expires = now + (n % 3 === 0 ? -day : day)
        return { expires, created: now - day - (n % 7), id: `${n}`.padStart(32, "0") }
      })
      const columns = "tenant, token_hash, user_id, expires, extra, id, created"
      for (let start = 0; start < rows.length; start += 100) {
        const some = rows.slice(start, start + 100)
        await context.database.sql(
          `INSERT INTO sessions (${columns}) VALUES ${some.map(() => "(?, ?, 'u', ?, '{}', ?, ?)").join(", ")}`,
          some.flatMap(({ expires, created, id }) => {
            const { moment } = context.database
            return [caller.tenant, Buffer.from(id), moment(expires), id, moment(created)]
          }),
        )
      }
      const living = rows.filter(({ expires }) => expires > now).length
      expect([await count(caller), await count(caller, { active: true })]).toEqual([2_300, living])
    })

    test("active leaves out what the session policy or revokeAll has ended", async () => {
      const caller = await newTenant()
      const { store, clock } = context
      await signIn(caller, 9, 9)
      clock.now += day
      await signIn(caller, 9)
      await store.sessionPolicies.update(caller, { maxAge: day / 2 })
      expect([await count(caller), await count(caller, { active: true })]).toEqual([3, 1])
      await store.sessions.revokeAll(caller, {})
      clock.now += 1
      expect(await count(caller, { active: true })).toBe(0)
    })
  })
}
