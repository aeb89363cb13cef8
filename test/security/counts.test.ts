import { createAuthwireClient } from "@authwire/client"
import { describeServer } from "@authwire/test-support/databases/databases.js"
import { activeStatements, lockTable } from "@authwire/test-support/databases/server-sql.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { startAuthwire } from "@authwire/test-support/processes/authwire.js"
import { until } from "@authwire/test-support/until.js"
import { expect, test } from "@jest/globals"

describeServer("slow counts of users", (target) => {
  const ends = endsAfterEach()

  test("use a fifth of the connections of the pool, and leave the rest to other calls", async () => {
    const authwire = await startAuthwire(target)
    ends(() => authwire.close())
    const client = createAuthwireClient({ url: authwire.server.grpcUrl, timeoutMs: 60_000 })
    ends(async () => client.close())
    const { database } = authwire
    const counting = async () => (await activeStatements(database)).filter((sql) => /FROM .?users/i.test(sql)).length
    // The table cannot be read meanwhile: each count lasts until the lock is released.
    const unlock = await lockTable(database, "users")
    const counts = Promise.allSettled(Array.from({ length: 30 }, () => client.users.countUsers({})))
    await until(async () => (await counting()) > 0)
    // Made after the counts. If these occupied all connections, it would wait until one of them is cancelled.
    expect(await client.adapter.useVerificationToken({ identifier: "nobody", token: "none" })).toBeNull()
    expect(await counting()).toBeLessThanOrEqual(2)
    await unlock()
    expect(new Set((await counts).map(({ status }) => status))).toEqual(new Set(["fulfilled"]))
  })
})
