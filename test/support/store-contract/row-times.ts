import { describe, expect, test } from "@jest/globals"
import { StoreError } from "../../../server/src/errors/store-error.js"
import type { Times } from "../../../server/src/store/types.js"
import { type ContractContext, createTenant, newAccount, newAuthenticator, newId, newUser } from "./context.js"

/** Declares the tests of when users, accounts and authenticators were created and last written. */
export function rowTimeContract(context: ContractContext): void {
  const caller = () => createTenant(context)
  /** Runs work with the clock set to `ms` milliseconds from now. */
  async function after<T>(ms: number, work: () => Promise<T>): Promise<T> {
    const { clock } = context
    const start = clock.now
    clock.now = start + ms
    try {
      return await work()
    } finally {
      clock.now = start
    }
  }
  /** Returns the times of the only item of a list, in milliseconds from now. */
  const timesOf = ([thing]: readonly Times[]) => {
    const since = (time: Date | undefined) => Number(time) - context.clock.now
    return { created: since(thing?.created), updated: since(thing?.updated) }
  }

  test("a user: every update counts, even if it changes nothing; reads, links and failed updates do not", async () => {
    const mine = await caller()
    const { users, accounts, sessions } = context.store
    const times = async () => timesOf((await context.other.users.list(mine, {}, { size: 1 })).items)
    const { id } = await after(1, () => users.create(mine, newUser({ email: "a@example.com" })))
    expect(await times()).toEqual({ created: 1, updated: 1 })
    await after(2, async () => {
      await users.get(mine, id)
      await accounts.link(mine, newAccount(id))
      const session = { sessionToken: newId(), userId: id, expires: new Date(context.clock.now + 9), extra: {} }
      await sessions.create(mine, session)
      await expect(users.update(mine, id, { extra: { k: "x".repeat(70_000) } })).rejects.toThrow(StoreError)
    })
    expect(await times()).toEqual({ created: 1, updated: 1 })
    await after(3, () => users.update(mine, id, { name: "Ada" }))
    expect(await times()).toEqual({ created: 1, updated: 3 })
    await after(4, () => users.update(mine, id, { name: "Ada" }))
    expect(await times()).toEqual({ created: 1, updated: 4 })
    const [listed] = (await context.other.users.list(mine, {}, { size: 1 })).items
    expect(await context.other.users.getWithTimes(mine, id)).toEqual(listed)
    expect(await context.other.users.getMany(mine, [id])).toEqual([listed])
    const [row] = await context.database.sql("SELECT created, updated FROM users WHERE tenant = ?", [mine.tenant])
    expect(row).toEqual({ created: context.clock.now + 1, updated: context.clock.now + 4 })
  })

  test("a user who replaces a provisional one: has its own time of creation", async () => {
    const mine = await caller()
    const store = await context.database.openStore({ clock: () => context.clock.now, provisionalMs: 60_000 })
    const user = () => newUser({ email: "a@example.com" })
    await after(1, () => store.users.create(mine, user(), { provisional: true }))
    const { id } = await after(2, () => store.users.create(mine, user(), { provisional: true }))
    const { items } = await context.other.users.list(mine, {}, { size: 9 })
    expect([items.map((one) => one.id), timesOf(items)]).toEqual([[id], { created: 2, updated: 2 }])
    await store.close()
  })

  test("an account: another link of it counts as an update", async () => {
    const mine = await caller()
    const { id } = await context.store.users.create(mine, newUser())
    const { accounts } = context.store
    const times = async (tokens: boolean) =>
      timesOf((await context.other.accounts.listByUser(mine, id, { size: 1 }, { tokens })).items)
    const account = await after(1, () => accounts.link(mine, newAccount(id, { access_token: "a" })))
    for (const tokens of [true, false]) expect(await times(tokens)).toEqual({ created: 1, updated: 1 })
    await after(2, () => accounts.link(mine, { ...account, access_token: "b" }))
    for (const tokens of [true, false]) expect(await times(tokens)).toEqual({ created: 1, updated: 2 })
    await accounts.unlink(mine, account)
    await after(3, () => accounts.link(mine, account))
    expect(await times(false)).toEqual({ created: 3, updated: 3 })
  })

  test("an authenticator: setting its counter counts, even to the same value; a lower value does not; a name is no use", async () => {
    const mine = await caller()
    const { id } = await context.store.users.create(mine, newUser())
    const { authenticators } = context.store
    const times = async () => {
      const list = await context.other.authenticators.listByUserId(mine, id)
      const lastUsed = list[0]?.lastUsed && Number(list[0].lastUsed) - context.clock.now
      return { ...timesOf(list), lastUsed }
    }
    const { credentialID } = await after(1, () => authenticators.create(mine, newAuthenticator(id, { counter: 1 })))
    expect(await times()).toEqual({ created: 1, updated: 1, lastUsed: undefined })
    for (const [ms, counter] of [
      [2, 2],
      [3, 2],
    ] as const) {
      await after(ms, () => authenticators.updateCounter(mine, credentialID, counter))
      expect(await times()).toEqual({ created: 1, updated: ms, lastUsed: ms })
    }
    const lower = after(4, () => authenticators.updateCounter(mine, credentialID, 1))
    await expect(lower).rejects.toMatchObject({ reason: "COUNTER_REGRESSION" })
    expect(await times()).toEqual({ created: 1, updated: 3, lastUsed: 3 })
    await after(5, () => authenticators.rename(mine, credentialID, "Laptop"))
    expect(await times()).toEqual({ created: 1, updated: 5, lastUsed: 3 })
  })

  describe("are returned by lists", () => {
    test("and by no other method", async () => {
      const mine = await caller()
      const user = newUser({ email: "a@example.com" })
      const account = newAccount(user.id)
      const authenticator = newAuthenticator(user.id)
      const { store } = context
      expect(await store.users.create(mine, user)).toStrictEqual(user)
      expect(Object.keys((await store.users.get(mine, user.id)) as object)).not.toContain("updated")
      expect(await store.accounts.link(mine, account)).toEqual(account)
      expect(Object.keys((await store.accounts.get(mine, account)) as object)).not.toContain("created")
      expect(await store.authenticators.create(mine, authenticator)).toEqual(authenticator)
      const read = await store.authenticators.get(mine, authenticator.credentialID)
      expect(Object.keys(read as object)).not.toContain("created")
    })
  })
}
