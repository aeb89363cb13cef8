import { expect, test } from "@jest/globals"
import {
  anyone,
  type ContractContext,
  createTenant,
  expiredRows,
  newId,
  newSession,
  newUser,
  range,
} from "./context.js"

export function expiredContract(context: ContractContext): void {
  const of = (table: string) => expiredRows(context.store, table)
  const times = async (table: string, from: number, before: number) => {
    const where = `expires >= ? AND expires < ? ORDER BY expires`
    const moments = [from, before].map(context.database.moment)
    const rows = await context.database.sql(`SELECT expires FROM ${table} WHERE ${where}`, moments)
    return rows.map(({ expires }) => Number(expires) - from)
  }

  test("now: returns the time of the database's clock", async () => {
    expect(Math.abs((await context.store.expired.now({})).getTime() - Date.now())).toBeLessThan(600_000)
  })

  test("names the tables with rows that expire", () => {
    expect([...new Set(context.store.expired.tables.map(({ table }) => table))]).toEqual([
      "sessions",
      "verification_tokens",
      "idempotency_keys",
      "caches",
      "ended_tokens",
      "webhook_deliveries",
      "events",
      "users",
    ])
  })

  // Times that no other test uses.
  test.each([
    ["sessions", Date.UTC(1990, 0, 1)],
    ["verification_tokens", Date.UTC(1991, 0, 1)],
  ])(
    "deleteBatch, %s: the oldest first, of all tenants, at most the limit, and none outside of the span",
    async (table, zero) => {
      const moments = [9, 3, 1, 7, 5, 0, 10, -1].map((ms) => new Date(zero + ms))
      let others = await createTenant(context)
      while ((await context.database.isBeside?.(others.tenant)) === false) others = await createTenant(context)
      for (const [n, expires] of moments.entries()) {
        const caller = n % 2 === 0 ? anyone : others
        const user = await context.store.users.create(caller, newUser())
        if (table === "sessions") await context.store.sessions.create(caller, newSession(user.id, expires.getTime()))
        else await context.store.verificationTokens.create(caller, { identifier: newId(), token: newId(), expires })
      }
      const span = { from: new Date(zero), before: new Date(zero + 10) }
      const first = await of(table).deleteBatch({}, { ...span, limit: 4 })
      expect(first).toEqual({ count: 4, first: new Date(zero), last: new Date(zero + 5) })
      expect(await times(table, zero - 1, zero + 11)).toEqual([0, 8, 10, 11])
      const second = await of(table).deleteBatch({}, { ...span, from: new Date(zero + 5), limit: 4 })
      expect(second).toEqual({ count: 2, first: new Date(zero + 7), last: new Date(zero + 9) })
      expect(await times(table, zero - 1, zero + 11)).toEqual([0, 11])
      expect(await of(table).deleteBatch({}, { ...span, limit: 4 })).toBeNull()
    },
  )

  test("deleteBatch: concurrent calls delete each row once, in batches larger than a statement", async () => {
    const zero = Date.UTC(1992, 0, 1)
    const user = await context.store.users.create(anyone, newUser())
    for (const n of range(330)) await context.store.sessions.create(anyone, newSession(user.id, zero + n))
    const [from, before] = [new Date(zero), new Date(zero + 1_000)]
    const counts = await Promise.all(
      range(6).map(async (n) => {
        const rows = expiredRows(n % 2 ? context.store : context.other, "sessions")
        let count = 0
        for (;;) {
          const deleted = await rows.deleteBatch({}, { from, before, limit: 130 })
          if (deleted === null) return count
          count += deleted.count
        }
      }),
    )
    expect(counts.reduce((sum, count) => sum + count)).toBe(330)
    expect(await times("sessions", zero, zero + 1_000)).toEqual([])
  })
}
