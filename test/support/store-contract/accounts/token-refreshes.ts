import { setTimeout as delay } from "node:timers/promises"
import { describe, expect, test } from "@jest/globals"
import { anyone, type ContractContext, newAccount, newId, range } from "../context.js"
import { hour, none, refreshes } from "./refreshes.js"

/** Declares the tests of the leases of token refreshes. */
export function tokenRefreshContract(context: ContractContext): void {
  const { linked, begin, stateOf, rowOf } = refreshes(context)

  describe("get", () => {
    test("the only account that the user has at the provider", async () => {
      const account = await linked()
      const { userId, provider } = account
      await context.store.accounts.link(anyone, newAccount(userId, { provider: "Github" }))
      const found = { account, refresh: { kind: "idle" }, ageMs: expect.any(Number) }
      expect(await context.store.tokenRefreshes.get(anyone, { userId, provider })).toEqual(found)
      expect(await context.store.tokenRefreshes.get(anyone, account)).toEqual(found)
    })

    test("the time since the account was written", async () => {
      const account = await linked()
      const ageOf = async () => (await context.store.tokenRefreshes.get(anyone, account))?.ageMs as number
      const where = "WHERE provider_account_id = ?"
      const moment = context.database.moment(Date.now() - hour)
      await context.database.sql(`UPDATE accounts SET updated = ? ${where}`, [moment, account.providerAccountId])
      expect(Math.abs((await ageOf()) - hour)).toBeLessThan(60_000)
    })

    test("null: no such user, provider or account, or it is another user's or tenant's", async () => {
      const account = await linked()
      const { userId, provider, providerAccountId } = account
      const other = await linked()
      const keys = [
        { userId: newId(), provider },
        { userId: newId(), provider, providerAccountId },
        { userId: other.userId, provider, providerAccountId },
        { userId, provider: "GitHub" },
        { userId, provider, providerAccountId: newId() },
      ]
      for (const key of keys) expect(await context.store.tokenRefreshes.get(anyone, key)).toBeNull()
      expect(await context.store.tokenRefreshes.get({ tenant: newId() }, account)).toBeNull()
    })

    test("INVALID_FIELD: the user has several accounts at the provider, and none is named", async () => {
      const account = await linked()
      const second = await context.store.accounts.link(anyone, newAccount(account.userId))
      const { userId, provider } = account
      await expect(context.store.tokenRefreshes.get(anyone, { userId, provider })).rejects.toMatchObject({
        reason: "INVALID_FIELD",
        field: "provider_account_id",
      })
      expect((await context.store.tokenRefreshes.get(anyone, second))?.account).toEqual(second)
    })
  })

  describe("begin", () => {
    test("of any number of concurrent calls one acquires the lease, and the database has its holder", async () => {
      const account = await linked()
      const holders = range(20).map(newId)
      const answers = await Promise.all(
        holders.map((holder, n) => begin(account, holder, hour, n % 2 ? context.store : context.other)),
      )
      expect(answers.filter((answer) => answer?.taken)).toHaveLength(1)
      const holder = holders[answers.findIndex((answer) => answer?.taken)]
      expect(await rowOf(account)).toMatchObject({ refresh_holder: holder, refresh_failure: null, mark: null })
      // The clock is that of the database and not that of the store.
      expect(Math.abs(Number((await rowOf(account))?.refresh_until) - Date.now() - hour)).toBeLessThan(hour / 2)
      const others = answers.filter((answer) => !answer?.taken)
      for (const answer of others) expect(answer).toMatchObject({ account, refresh: { kind: "held" } })
      expect(await stateOf(account)).toMatchObject({ kind: "held" })
    })

    test("the holder renews its lease; an expired lease is free", async () => {
      const account = await linked()
      const holder = newId()
      expect(await begin(account, holder, 1)).toMatchObject({ taken: true })
      // Wait until the expiry has passed by the clock of the database, which has millisecond precision.
      await delay(5)
      expect(await stateOf(account)).toEqual({ kind: "idle" })
      const next = newId()
      expect(await begin(account, next, hour, context.other)).toMatchObject({ taken: true })
      expect(await begin(account, holder)).toMatchObject({ taken: false })
      expect(await begin(account, next)).toMatchObject({ taken: true })
    })

    test("reports the expired lease of another holder that did not release it, once", async () => {
      const account = await linked()
      const unreleasedMs = async (holder: string, ms: number) => (await begin(account, holder, ms))?.unreleasedMs
      expect(await unreleasedMs("h", 1)).toBeUndefined()
      await delay(100)
      expect(await unreleasedMs("h", 1)).toBeUndefined()
      await delay(100)
      const ms = await unreleasedMs("next", hour)
      expect(ms).toBeGreaterThan(50)
      expect(ms).toBeLessThan(hour)
      expect(await unreleasedMs("next", hour)).toBeUndefined()
    })

    test("reports no lease that was released, and no failure that has expired", async () => {
      const account = await linked()
      await begin(account, "h")
      await context.store.tokenRefreshes.release(anyone, account, "h")
      expect(await rowOf(account)).toEqual(none)
      await begin(account, "h")
      await context.store.tokenRefreshes.fail(anyone, account, "h", { failure: "refused", ms: 1 })
      await delay(5)
      const begun = await begin(account, "next")
      expect(begun?.taken).toBe(true)
      expect(begun?.unreleasedMs).toBeUndefined()
    })

    test("no call acquires it for tokens that were replaced, or whose expiry was extended", async () => {
      for (const change of [{ access_token: "a2" }, { refresh_token: "r2" }, { expires_at: 2_000 }]) {
        const account = await linked()
        const now = await context.store.accounts.link(anyone, { ...account, ...change })
        expect(await begin(account)).toMatchObject({ account: now, refresh: { kind: "idle" }, taken: false })
        expect(await rowOf(account)).toEqual(none)
      }
    })

    test("null: the account was unlinked, or belongs to another user by now", async () => {
      const account = await linked()
      await context.store.accounts.unlink(anyone, account)
      expect(await begin(account)).toBeNull()
      const other = await linked({ providerAccountId: account.providerAccountId })
      expect(await begin(account)).toBeNull()
      expect(await context.store.tokenRefreshes.begin({ tenant: newId() }, other, { holder: "h", ms: 1 })).toBeNull()
      expect(await rowOf(account)).toEqual(none)
    })
  })

  test("release: changes neither the lease of another holder nor a failure nor another account", async () => {
    const { tokenRefreshes } = context.store
    const account = await linked()
    await begin(account, "h")
    await tokenRefreshes.release(anyone, account, "other")
    await tokenRefreshes.release({ tenant: newId() }, account, "h")
    await tokenRefreshes.release(anyone, { ...account, userId: newId() }, "h")
    expect(await rowOf(account)).toMatchObject({ refresh_holder: "h" })
    await tokenRefreshes.fail(anyone, account, "h", { failure: "refused", ms: hour })
    await tokenRefreshes.release(anyone, account, "h")
    expect(await stateOf(account)).toMatchObject({ kind: "failed" })
  })

  test("a repeated link and the deletion of the user work with and without a lease", async () => {
    const account = await linked()
    await begin(account, "h")
    await context.store.accounts.link(anyone, { ...account, scope: "s2" })
    expect(await rowOf(account)).toMatchObject({ refresh_holder: "h" })
    await context.store.users.delete(anyone, account.userId)
    expect(await rowOf(account)).toBeUndefined()
  })
}
