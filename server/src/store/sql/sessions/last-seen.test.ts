import { databaseTargets } from "@authwire/test-support/databases/databases.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import {
  anyone,
  day,
  encryptionKeys,
  newSession,
  newUser,
  range,
} from "@authwire/test-support/store-contract/context.js"
import { until } from "@authwire/test-support/until.js"
import { expect, test } from "@jest/globals"
import { openSqlStore } from "../index.js"

test.each(databaseTargets())(
  "on %s, the times of last use are written in batches, each in a transaction of one statement",
  async (target) => {
    const database = await createStoreDatabase(target)
    let now = Date.now()
    let operations: string[] = []
    const observer = {
      waited() {},
      connected() {},
      lookedUp() {},
      ran: ({ operation }: { operation: string }) => operations.push(operation),
    }
    const store = await openSqlStore({ url: database.url, encryptionKeys, clock: () => now, observer })
    try {
      const { id } = await store.users.create(anyone, newUser())
      const sessions = range(110).map(() => newSession(id, now + day))
      for (const session of sessions) await store.sessions.create(anyone, session)
      now += 60_000
      operations = []
      await Promise.all(sessions.map(({ sessionToken }) => store.sessions.getWithUser(anyone, sessionToken)))
      await until(async () => {
        const [row] = await database.sql("SELECT COUNT(*) AS n FROM sessions WHERE last_seen = ?", [
          database.moment(now),
        ])
        return Number(row?.n) === sessions.length
      })
      const updates = operations.filter((operation) => operation === "UPDATE")
      expect(updates.length).toBeLessThan(20)
      // The last commit may not have been observed yet.
      const commits = operations.filter((operation) => operation === "COMMIT")
      expect(commits.length).toBeGreaterThanOrEqual(updates.length - 1)
    } finally {
      await store.close()
      await database.drop()
    }
  },
)
