import { describeServers } from "@authwire/test-support/databases/databases.js"
import { type Authwire, startAuthwire } from "@authwire/test-support/processes/authwire.js"
import { afterAll, beforeAll, expect, test } from "@jest/globals"
import { allIsWell, flood } from "./flooding.js"

// Not on SQLite, which answers in the turn that asks: there nothing waits that could be rejected.
describeServers("more calls than can be answered, on %s", (target) => {
  let authwire: Authwire
  beforeAll(async () => {
    authwire = await startAuthwire(target)
  })
  afterAll(() => authwire.close())

  test("health answers, what is let in is answered, the rest is rejected, and then all is well", async () => {
    const { answered, rejected } = await flood(authwire)
    expect(answered).toBeGreaterThan(0)
    expect(rejected).toBeGreaterThan(0)
    await allIsWell(authwire)
    // Many were rejected each second, and the log has a line for each second.
    const rejections = authwire.server.output().match(/"calls rejected"/g) ?? []
    expect(rejections.length).toBeGreaterThan(0)
    expect(rejections.length).toBeLessThan(60)
  })
})
