import { describeServer } from "@authwire/test-support/databases/databases.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { expect, test } from "@jest/globals"
import { allIsWell, flood } from "./flooding.js"

// Not on SQLite, where statements run synchronously, so that no calls queue up that could be rejected.
describeServer("more calls than can be answered", (target) => {
  const authwire = useAuthwire(target)

  test("thousands are answered, thousands are rejected, and within five seconds calls succeed again", async () => {
    const { answered, rejected } = await flood(authwire)
    expect(rejected).toBeGreaterThan(1_000)
    expect(answered).toBeGreaterThan(1_000)
    await allIsWell(authwire, 500, 5_000)
  })
})
