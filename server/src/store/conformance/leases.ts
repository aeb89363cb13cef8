import { setTimeout as delay } from "node:timers/promises"
import { describe, expect, test } from "@jest/globals"
import { type ContractContext, newId, range } from "./context.js"

export function leaseContract(context: ContractContext): void {
  const hour = 3_600_000
  const held = async (name: string) =>
    (await context.database.sql("SELECT holder FROM leases WHERE name = ?", [name])).map(({ holder }) => holder)

  describe("acquire", () => {
    test("of any number who ask at the same time one gets it, and it is that one's in the database", async () => {
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

    test("whoever holds it renews it, and nobody else does", async () => {
      const name = newId()
      expect(await context.store.leases.acquire({}, { name, holder: "one", ms: hour })).toBe(true)
      expect(await context.other.leases.acquire({}, { name, holder: "two", ms: hour })).toBe(false)
      expect(await context.other.leases.acquire({}, { name, holder: "One", ms: hour })).toBe(false)
      expect(await context.store.leases.acquire({}, { name, holder: "one", ms: 2 * hour })).toBe(true)
      const [row] = await context.database.sql("SELECT until FROM leases WHERE name = ?", [name])
      // The clock is that of the database, whatever that of the store says.
      expect(Math.abs(Number(row?.until) - Date.now() - 2 * hour)).toBeLessThan(hour / 2)
    })

    test("one that has run out is anybody's: of those who ask then one gets it", async () => {
      const name = newId()
      await context.store.leases.acquire({}, { name, holder: "gone", ms: 1 })
      // Until its time lies in the past by the clock of the database, which has milliseconds.
      await delay(5)
      const answers = await Promise.all(
        range(10).map((n) => context.other.leases.acquire({}, { name, holder: `next ${n}`, ms: hour })),
      )
      expect(answers.filter((isHeld) => isHeld)).toHaveLength(1)
      expect(await held(name)).toEqual([`next ${answers.indexOf(true)}`])
    })
  })

  test("release: gives back what one holds, and nothing that another does", async () => {
    const name = newId()
    await context.store.leases.acquire({}, { name, holder: "one", ms: hour })
    await context.other.leases.release({}, { name, holder: "two" })
    expect(await held(name)).toEqual(["one"])
    await context.store.leases.release({}, { name, holder: "one" })
    expect(await context.other.leases.acquire({}, { name, holder: "two", ms: hour })).toBe(true)
  })
}
