import { databaseTargets } from "@authwire/test-support/databases/databases.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { describe, expect, test } from "@jest/globals"
import { eventFeed } from "../events/feed.js"
import { encryptionKeys, newUser } from "../store/conformance/context.js"
import { openSqlStore } from "../store/sql/index.js"
import { eventChanges } from "./event-changes.js"

describe.each(databaseTargets())("eventChanges, on %s", (target) => {
  test("reach is the position of the tenant's last event, whatever other tenants have written since", async () => {
    const database = await createStoreDatabase(target)
    const store = await openSqlStore({ url: database.url, encryptionKeys, eventsKeepMs: 86_400_000 })
    const feed = eventFeed({ events: store.events, onFailure: () => {} })
    const { reach } = eventChanges(feed, store.events)
    try {
      for (const name of ["one", "two"]) await store.tenants.create({}, { name, created: new Date() })
      await store.users.create({ tenant: "one" }, newUser())
      const first = await reach("one")
      expect(first).toBeGreaterThan(0n)
      // Without an event of the tenant there is nothing to wait for.
      expect(await reach("two")).toBe(0n)
      await store.users.create({ tenant: "two" }, newUser())
      expect(await reach("two")).toBeGreaterThan(first)
      expect(await reach("one")).toBe(first)
    } finally {
      await feed.stop()
      await store.close()
      await database.drop()
    }
  })
})
