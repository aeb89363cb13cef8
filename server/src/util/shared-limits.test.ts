import { describe, expect, test } from "@jest/globals"
import { pacer } from "./pacer.js"
import { cacheMessages, type SharedLimit, scaled, sharedLimits, sharesOf } from "./shared-limits.js"

/** Those for which calls do not wait. They are budgets. */
const budgets = Object.entries<SharedLimit>(sharedLimits).filter(([, { isQueued }]) => !isQueued)

describe.each(budgets)("the limit of %s", (_, limit) => {
  /** Takes all that keys of a tenant get, one after the other. Returns what each of 100 keys got. */
  const takeAll = (shares: ReturnType<typeof sharesOf>, tenant: string, amount: number) =>
    Array.from({ length: 100 }, (_, n) => {
      const budget = shares({ tenant, keyId: `${tenant} ${n}` })
      let taken = 0
      while (budget.take(amount)) taken += amount
      return taken
    })
  const sum = (all: readonly number[]) => all.reduce((total, one) => total + one, 0)

  test.each([1, 3])("is shared with a tenant that takes all it gets with 100 keys, %i times as large", (factor) => {
    const { process, tenant, key, reserve = 0 } = scaled(limit, factor)
    const shares = sharesOf({ process, tenant, key, reserve })
    const step = Math.max(1, key / 64)
    const greedy = takeAll(shares, "greedy", step)
    expect(Math.max(...greedy)).toBeLessThanOrEqual(key)
    expect(sum(greedy)).toBeLessThanOrEqual(tenant)
    expect(sum(greedy)).toBeGreaterThan(tenant - step)

    const other = shares({ tenant: "other", keyId: "other" })
    const left = Math.min(key, process - tenant)
    // Until then new work of the other tenant begins, and what it has begun may take the rest.
    expect(other.take(left - reserve - 1)).toBe(true)
    expect(other.isTight).toBe(false)
    expect(other.take(reserve + 1)).toBe(true)
    expect(other.takeOrHolder(1)).toBe(left === key ? "the API key" : "the service")

    other.give(left)
    const owner = { tenant: "greedy", keyId: "greedy 0" }
    shares(owner).give(step)
    expect(shares(owner).takeOrHolder(2 * step)).toMatch(/tenant|API key/)
    expect(shares(owner).take(step)).toBe(true)
  })
})

test("S-48: the messages of session caches of a tenant are delayed by its own only", () => {
  let now = 0
  const [one, other] = [pacer(cacheMessages.tenant, () => now), pacer(cacheMessages.tenant, () => now)]
  const { perSecond, atOnce } = cacheMessages.tenant
  const waits = Array.from({ length: atOnce + perSecond }, one)
  expect(waits.slice(0, atOnce).every((ms) => ms === 0)).toBe(true)
  expect(waits.at(-1)).toBeCloseTo(1_000)
  expect(other()).toBe(0)
  now = 1_000 + (atOnce * 1_000) / perSecond
  expect(one()).toBeCloseTo(0)
})
