import { setTimeout as delay } from "node:timers/promises"
import { describe, expect, test } from "@jest/globals"
import { type ContractContext, newId, range } from "./context.js"

export function leaseContract(context: ContractContext): void {
  const hour = 3_600_000
  const held = async (name: string) =>
    (await context.database.sql("SELECT holder FROM leases WHERE name = ?", [name])).map(({ holder }) => holder)

  describe("acquire", () => {
    test("of any number of concurrent calls one acquires it, and the database has its holder", async () => {
      const name = newId()
      const holders = range(20).map(newId)
      const answers = await Promise.all(
        holders.map((holder, n) =>
          (n % 2 ? context.store : context.other).leases.acquire({}, { name, holder, ms: hour }),
        ),
      )
      expect(answers.filter((isHeld) => isHeld)).toHaveLength(1)
      expect(await held(name)).toEqual([holders[answers.indexOf(true)]])
    })

    test("only its holder renews it", async () => {
      const name = newId()
      expect(await context.store.leases.acquire({}, { name, holder: "one", ms: hour })).toBe(true)
      expect(await context.other.leases.acquire({}, { name, holder: "two", ms: hour })).toBe(false)
      expect(await context.other.leases.acquire({}, { name, holder: "One", ms: hour })).toBe(false)
      expect(await context.store.leases.acquire({}, { name, holder: "one", ms: 2 * hour })).toBe(true)
      const [row] = await context.database.sql("SELECT until FROM leases WHERE name = ?", [name])
      // The clock is that of the database and not that of the store.
      expect(Math.abs(Number(row?.until) - Date.now() - 2 * hour)).toBeLessThan(hour / 2)
    })

    test("an expired lease is free: one of several concurrent calls acquires it", async () => {
      const name = newId()
      await context.store.leases.acquire({}, { name, holder: "gone", ms: 1 })
      // Wait until the expiry has passed by the clock of the database, which has millisecond precision.
      await delay(5)
      const answers = await Promise.all(
        range(10).map((n) => context.other.leases.acquire({}, { name, holder: `next ${n}`, ms: hour })),
      )
      expect(answers.filter((isHeld) => isHeld)).toHaveLength(1)
      expect(await held(name)).toEqual([`next ${answers.indexOf(true)}`])
    })
  })

  test("release: releases the holder's lease, and no other one", async () => {
    const name = newId()
    await context.store.leases.acquire({}, { name, holder: "one", ms: hour })
    await context.other.leases.release({}, { name, holder: "two" })
    expect(await held(name)).toEqual(["one"])
    await context.store.leases.release({}, { name, holder: "one" })
    expect(await context.other.leases.acquire({}, { name, holder: "two", ms: hour })).toBe(true)
  })
}
