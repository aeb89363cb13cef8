import { createAuthwireClient } from "@authwire/client"
import { describeServer } from "@authwire/test-support/databases/databases.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { until } from "@authwire/test-support/until.js"
import { expect, test } from "@jest/globals"

// Four times as many calls as may be active, and 100 more, may wait for the database, a tenth of them for one row.
const places = 50

describeServer("more writers of a locked row than may wait for it", (target) => {
  const authwire = useAuthwire(target, { args: ["--max-active-calls=100"] })

  test("are rejected with QUEUE_FULL, so that writers of other rows go on; the others are answered", async () => {
    const { database, server } = authwire
    const { adapter, close } = createAuthwireClient({ url: server.grpcUrl, timeoutMs: 30_000 })
    const user = async () => (await adapter.createUser({ id: crypto.randomUUID(), email: "", emailVerified: null })).id
    const [id, other] = [await user(), await user()]
    await database.query("BEGIN")
    await database.query("SELECT id FROM users WHERE tenant = 'default' AND id = ? FOR UPDATE", [id])
    const reasons: string[] = []
    const writing = Array.from({ length: 60 }, (_, n) =>
      adapter.updateUser({ id, name: String(n) }).then(
        () => "written",
        (error) => void reasons.push(error.reason),
      ),
    )
    // One of them is executing and waits for the lock.
    await until(() => reasons.length === 60 - places - 1)
    expect(await adapter.getUser(id)).toMatchObject({ id })
    expect(await adapter.updateUser({ id: other, name: "x" })).toMatchObject({ name: "x" })
    await database.query("COMMIT")
    expect((await Promise.all(writing)).filter((end) => end === "written")).toHaveLength(places + 1)
    expect(new Set(reasons)).toEqual(new Set(["QUEUE_FULL"]))
    close()
  })
})
