import { AuthwireError } from "@authwire/client"
import { describeServer } from "@authwire/test-support/databases/databases.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { whileFull } from "@authwire/test-support/processes/full.js"
import { until } from "@authwire/test-support/until.js"
import { expect, test } from "@jest/globals"
import { carriers } from "../transports/carriers.js"

describeServer("calls that are rejected before they begin", (target) => {
  const authwire = useAuthwire(target, {
    args: ["--max-active-calls=2", "--audit-log=stderr", "--database-statement-timeout-ms=30000"],
  })

  // Fewer than the number per second up to which rejections are logged one by one.
  test("are in the audit log, over every transport", async () => {
    const ids = carriers.map(() => crypto.randomUUID())
    await whileFull(authwire, async () => {
      const calls = carriers.map(async (carrier, index) => {
        const client = carrier.connect(authwire.server, { timeoutMs: 4_000 })
        const headers = { "x-request-id": ids[index] as string }
        await expect(client.users.createUser({}, { headers })).rejects.toThrow(AuthwireError)
        client.close()
      })
      await Promise.all(calls)
    })
    const audited = () =>
      authwire.server
        .log()
        .split("\n")
        .filter((line) => line.includes('"event":"audit"'))
        .map((line) => JSON.parse(line) as Record<string, unknown>)
        .filter(({ request_id }) => ids.some((id) => id === request_id))
    // The client repeats them with the same id.
    await until(() => new Set(audited().map(({ request_id }) => request_id)).size === ids.length)
    const told = { method: "authwire.v1.UserService/CreateUser", code: "RESOURCE_EXHAUSTED", reason: "OVERLOADED" }
    for (const request_id of ids) expect(audited()).toContainEqual(expect.objectContaining({ ...told, request_id }))
  })
})
