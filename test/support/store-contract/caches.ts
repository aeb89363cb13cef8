import { setTimeout as delay } from "node:timers/promises"
import { expect, test } from "@jest/globals"
import { anyone, type ContractContext, createTenant, newId, range } from "./context.js"

export function cacheContract(context: ContractContext): void {
  const hour = 3_600_000
  const said = { version: 1, leaseMs: 1_000, confirmed: 7, ms: hour }
  const of = async (process: string) =>
    (await context.other.caches.list(anyone)).filter((row) => row.process === process)

  test("keep: the row of a process is visible to all, with the clock of the database", async () => {
    const process = newId()
    expect(await context.store.caches.keep(anyone, { ...said, process })).toBe(true)
    expect(await of(process)).toEqual([{ process, leaseMs: 1_000, confirmed: 7 }])
    const sequence = 2 ** 53 - 1
    const next = { process, version: 2, leaseMs: 10_000, confirmed: sequence, ms: 2 * hour }
    expect(await context.store.caches.keep(anyone, next)).toBe(true)
    expect(await of(process)).toEqual([{ process, leaseMs: 10_000, confirmed: sequence }])
    const [row] = await context.database.sql("SELECT version, expires FROM caches WHERE process = ?", [process])
    expect(Number(row?.version)).toBe(2)
    expect(Math.abs(Number(row?.expires) - Date.now() - 2 * hour)).toBeLessThan(hour / 2)
  })

  test("keep: of calls in any order or at the same time the highest version wins", async () => {
    const process = newId()
    const versions = range(12).map((n) => n + 1)
    const kept = await Promise.all(
      versions.map((version) =>
        (version % 2 ? context.store : context.other).caches.keep(anyone, {
          ...said,
          process,
          version,
          confirmed: version,
        }),
      ),
    )
    // If the first two calls collided, the rejected one may have had the higher version. A process would retry it.
    const highest = Math.max(...versions.filter((_, n) => kept[n]))
    expect(await of(process)).toMatchObject([{ confirmed: highest }])
    expect(await context.store.caches.keep(anyone, { ...said, process, version: highest, confirmed: 1 })).toBe(false)
    expect(await context.store.caches.keep(anyone, { ...said, process, version: 100, confirmed: 100 })).toBe(true)
    expect(await of(process)).toMatchObject([{ confirmed: 100 }])
  })

  test("list: omits expired rows", async () => {
    const process = newId()
    await context.store.caches.keep(anyone, { ...said, process, ms: 1 })
    // Wait until the expiry has passed by the clock of the database, which has millisecond precision.
    await delay(5)
    expect(await of(process)).toEqual([])
  })

  test("keep, list: a row for one tenant is not visible to another", async () => {
    const process = newId()
    const [one, two] = [await createTenant(context), await createTenant(context)]
    expect(await context.store.caches.keep(one, { ...said, process })).toBe(true)
    expect(await context.other.caches.list(two)).toEqual([])
    expect(await context.store.caches.keep(two, { ...said, process, version: 9, confirmed: 9 })).toBe(true)
    // The tenants have separate versions.
    expect(await context.store.caches.keep(one, { ...said, process, version: 2, confirmed: 8 })).toBe(true)
    expect(await context.other.caches.list(one)).toEqual([{ process, leaseMs: 1_000, confirmed: 8 }])
    expect(await context.other.caches.list(two)).toEqual([{ process, leaseMs: 1_000, confirmed: 9 }])
  })
}
