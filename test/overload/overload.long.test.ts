import { TokenService, UserService } from "@authwire/proto"
import { Health, HealthCheckResponse_ServingStatus as Status } from "@authwire/proto/health"
import { errorOf, frame, messageOf, openBarePipeline } from "@authwire/test-support/connections/bare-pipeline.js"
import { rejection } from "@authwire/test-support/connections/rejected.js"
import { describeServer } from "@authwire/test-support/databases/databases.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { whileFull } from "@authwire/test-support/processes/full.js"
import { createClient } from "@connectrpc/connect"
import { describe, expect, test } from "@jest/globals"
import { carriers } from "../transports/carriers.js"

describeServer("the limit of two active writes is reached", (target) => {
  const authwire = useAuthwire(target, { args: ["--max-active-calls=2", "--database-statement-timeout-ms=30000"] })

  describe.each(carriers)("$name", (carrier) => {
    test("S-45: one more write is rejected, and admitted when a write has ended; reads and tokens go on", async () => {
      const client = carrier.connect(authwire.server, { timeoutMs: 20_000 })
      // The transport itself does not retry.
      const transport = carrier.transport(authwire.server)
      const [users, tokens] = [createClient(UserService, transport), createClient(TokenService, transport)]
      const write = () => users.updateUser({ id: "nobody", name: "x", updateMask: { paths: ["name"] } })
      await whileFull(authwire, async () => {
        const rejected = [
          expect(rejection(write())).resolves.toBe("ResourceExhausted OVERLOADED 1000"),
          expect(rejection(users.createUser({}))).resolves.toMatch("OVERLOADED"),
          expect(rejection(users.getUser({ id: "nobody" }))).resolves.toMatch("USER_NOT_FOUND"),
          expect(rejection(tokens.encode({}))).resolves.toMatch("INVALID_FIELD"),
          expect(client.adapter.updateUser({ id: "nobody" })).rejects.toMatchObject({
            reason: "OVERLOADED",
            retryAfterMs: 1000,
          }),
        ]
        await Promise.all(rejected)
      })
      await expect(write()).rejects.toMatchObject({ code: 5 })
      client.close()
      transport.close?.()
    })

    test("health is answered", async () => {
      const transport = carrier.transport(authwire.server)
      const health = createClient(Health, transport)
      await whileFull(authwire, async () => {
        for (let count = 0; count < 10; count++) expect((await health.check({})).status).toBe(Status.SERVING)
      })
      transport.close?.()
    })
  })

  test("rejected calls in a pipeline have their own id, or a shared id under which the log counts them", async () => {
    const stream = openBarePipeline(authwire.server.grpcUrl)
    await stream.next()
    const { updateUser } = UserService.method
    const { check } = Health.method
    let ids: (string | undefined)[] = []
    await whileFull(authwire, async () => {
      const calls = Array.from({ length: 300 }, (_, index) => frame(index, updateUser, { id: "nobody" }))
      stream.send({
        calls: [...calls, frame(300, updateUser, {}, { header: { "x-request-id": "mine" } }), frame(301, check, {})],
      })
      const answers = await stream.answers(302)
      const ofHealth = answers.find(({ id }) => id === 301)
      expect(ofHealth && messageOf(check, ofHealth).status).toBe(Status.SERVING)
      const errors = answers.filter(({ id }) => id < 301).map((answer) => [answer.id, errorOf(answer)] as const)
      for (const [, error] of errors) expect(error).toMatchObject({ code: "RESOURCE_EXHAUSTED", reason: "OVERLOADED" })
      expect(errors.find(([id]) => id === 300)?.[1].requestId).toBe("mine")
      ids = errors.filter(([id]) => id !== 300).map(([, { requestId }]) => requestId)
    })
    stream.end()
    await stream.ended
    await authwire.server.stop()
    const lines = authwire.server
      .output()
      .split("\n")
      .filter((line) => line.includes('"calls rejected"'))
      .map(
        (line) =>
          JSON.parse(line) as {
            request_id: string
            rejected: { method: string; transport: string; calls: number }[]
          },
      )
    // Sixteen of them have waited briefly, and have ids of their own.
    const shared = new Set(ids.filter((id, index) => ids.indexOf(id) !== index))
    expect(ids.filter((id) => !shared.has(id)).length).toBeLessThanOrEqual(16)
    for (const id of shared) expect(lines.filter((line) => line.request_id === id)).toHaveLength(1)
    const counted = lines
      .flatMap(({ rejected }) => rejected)
      .filter(({ transport, method }) => transport === "pipeline" && method === "authwire.v1.UserService/UpdateUser")
    expect(counted.reduce((sum, { calls }) => sum + calls, 0)).toBeGreaterThanOrEqual(301)
  })
})
