import { createAuthwireClient } from "@authwire/client"
import { describeServers } from "@authwire/test-support/databases/databases.js"
import { activeStatements, lockTable } from "@authwire/test-support/databases/server-sql.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { startAuthwire } from "@authwire/test-support/processes/authwire.js"
import { until } from "@authwire/test-support/until.js"
import { expect, test } from "@jest/globals"

describeServers("counts that take long on %s", (target) => {
  const ends = endsAfterEach()

  test("have one connection of the pool, and others have theirs", async () => {
    const authwire = await startAuthwire(target)
    ends(() => authwire.close())
    const client = createAuthwireClient({ url: authwire.server.grpcUrl, timeoutMs: 60_000 })
    ends(async () => client.close())
    const { database } = authwire
    const counting = async () => (await activeStatements(database)).filter((sql) => /COUNT\(.*users/is.test(sql)).length
    // Nobody reads the table meanwhile: each count lasts until it is unlocked.
    const unlock = await lockTable(database, "users")
    const counts = Promise.allSettled(Array.from({ length: 30 }, () => client.users.countUsers({})))
    await until(async () => (await counting()) > 0)
    // Made after the counts: with them in all places it would wait until one of them is given up.
    expect(await client.adapter.getAccount("1", "none")).toBeNull()
    expect(await counting()).toBeLessThanOrEqual(1)
    await unlock()
    expect(new Set((await counts).map(({ status }) => status))).toEqual(new Set(["fulfilled"]))
  })
})
