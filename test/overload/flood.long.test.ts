import { describeServer } from "@authwire/test-support/databases/databases.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { expect, test } from "@jest/globals"
import { allIsWell, flood } from "./flooding.js"

// Not on SQLite, where statements run synchronously, so that no calls queue up that could be rejected.
describeServer("more calls than can be answered", (target) => {
  // So few that the service rejects some, however slowly this process sends.
  const authwire = useAuthwire(target, { args: ["--max-active-calls=8"] })

  test("health is answered, admitted calls are answered, the rest is rejected, and then calls succeed again", async () => {
    const { answered, rejected } = await flood(authwire)
    expect(answered).toBeGreaterThan(0)
    expect(rejected).toBeGreaterThan(0)
    await allIsWell(authwire, 50)
    // Many calls were rejected each second, and the log has one line per second.
    const rejections = authwire.server.output().match(/"calls rejected"/g) ?? []
    expect(rejections.length).toBeGreaterThan(0)
    expect(rejections.length).toBeLessThan(60)
  })
})
