import { databaseTargets } from "@authwire/test-support/databases/databases.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { createTenant, range } from "@authwire/test-support/store-contract/context.js"
import { expect, test } from "@jest/globals"
import { endedTokensBeyond } from "./ended-tokens.js"
import type { SqlStore } from "./index.js"

test.each(databaseTargets())(
  "of the marks of a tenant, the cleanup leaves the latest, as many as it may have, on %s",
  async (target) => {
    await using resources = new AsyncDisposableStack()
    const database = await createStoreDatabase(target)
    resources.defer(() => database.drop())
    let now = Date.UTC(2030, 0, 1)
    const store = (await database.openStore({ clock: () => now })) as SqlStore
    const [one, other] = [await createTenant({ store }), await createTenant({ store })]
    const userIds = range(7).map(String)
    for (const userId of userIds) {
      now += 1_000
      await store.signals.endTokens(one, { provider: "idp", userId })
    }
    await store.signals.endTokens(other, { provider: "idp", userId: "0" })
    const isEnded = async (caller: { tenant: string }, userId: string) => {
      await store.users.create(caller, { id: userId, extra: {} }).catch(() => {})
      const origin = { userId, provider: "idp", providerSessionId: undefined, signedIn: 0 }
      return (await store.signals.holderOf(caller, origin)).isEnded
    }
    const { deleteBatch } = endedTokensBeyond(store.database, 6)
    const span = { from: new Date(0), before: new Date(now), limit: 3 }
    let deleted = 0
    for (;;) {
      const batch = await deleteBatch({}, span)
      if (batch === null) break
      deleted += batch.count
    }
    // Each mark has two rows.
    expect(deleted).toBe(2 * userIds.length - 6)
    for (const [n, userId] of userIds.entries()) expect([n, await isEnded(one, userId)]).toEqual([n, n >= 4])
    expect(await isEnded(other, "0")).toBe(true)
  },
)
