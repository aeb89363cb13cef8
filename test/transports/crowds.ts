import type { AuthwireClient } from "@authwire/client"
import { describe, expect, test } from "@jest/globals"
import type { Carrier } from "./carriers.js"
import { failureOf, patient, type World } from "./world.js"

export function describeCrowds(world: World, carrier: Carrier): void {
  const client = () => world.clients[carrier.name] as AuthwireClient

  describe("hundreds of concurrent calls", () => {
    test("get each its own response, a message or an error", async () => {
      const users = Array.from({ length: 20 }, () => ({ id: crypto.randomUUID(), name: crypto.randomUUID() }))
      await Promise.all(users.map((user) => world.reference.users.createUser(user)))
      const outcomes = await Promise.all(
        Array.from({ length: 500 }, async (_, n) => {
          const headers = { "x-request-id": `call-${n}` }
          if (n % 5 === 3) return (await failureOf(client().users.getUser({ id: "" }, { headers }))).infos[0]
          if (n % 5 === 4) return (await failureOf(client().users.getUser({ id: `${n}` }, { headers }))).infos[0]
          const { user } = await client().users.getUser({ id: users[n % 20]?.id as string }, { headers })
          return { id: user?.id, name: user?.name }
        }),
      )
      for (const [n, outcome] of outcomes.entries()) {
        const reason = [undefined, undefined, undefined, "INVALID_FIELD", "USER_NOT_FOUND"][n % 5]
        if (reason === undefined) expect(outcome).toEqual(users[n % 20])
        else expect(outcome).toEqual({ reason, domain: "authwire", metadata: { request_id: `call-${n}` } })
      }
    })

    test("are answered even if requests must be small", async () => {
      const own = carrier.connect(world.small, patient)
      const header = { "x-some": "v".repeat(100) }
      const requestIds = await Promise.all(
        Array.from({ length: 200 }, async (_, n) => {
          const headers = { ...(n % 2 === 0 ? header : {}), "x-request-id": `call-${n}` }
          const giveUp = new AbortController()
          const dropped = own.users.getUser({ id: `dropped-${n}` }, { signal: giveUp.signal })
          void failureOf(own.users.getUser({ id: `beside-${n}` })).finally(() => giveUp.abort())
          await failureOf(dropped)
          const failed = await failureOf(own.users.getUser({ id: "x".repeat((n % 250) + 1) }, { headers }))
          return failed.infos[0]?.metadata.request_id ?? failed
        }),
      )
      expect(requestIds).toEqual(Array.from({ length: 200 }, (_, n) => `call-${n}`))
      own.close()
    })

    test("of which every third is cancelled: the others and later calls get their own responses", async () => {
      const { adapter, users } = client()
      const user = await adapter.createUser({ id: crypto.randomUUID(), email: "", emailVerified: null })
      const outcomes = await Promise.all(
        Array.from({ length: 500 }, async (_, n) => {
          if (n % 3 !== 0) return n % 3 === 1 ? await adapter.getUser(user.id) : await adapter.getUser("nobody")
          const giveUp = new AbortController()
          const call = users.getUser({ id: user.id }, { signal: giveUp.signal })
          // Immediately, or a moment later, when other calls have their responses.
          if (n % 2 === 0) giveUp.abort()
          else void adapter.getUser("nobody").finally(() => giveUp.abort())
          return await call.then(
            () => "answered",
            () => "given up",
          )
        }),
      )
      for (const [n, outcome] of outcomes.entries()) {
        if (n % 6 === 0) expect(outcome).toBe("given up")
        else if (n % 3 === 0) expect(["answered", "given up"]).toContain(outcome)
        else expect(outcome).toEqual(n % 3 === 1 ? user : null)
      }
      expect(await adapter.getUser(user.id)).toEqual(user)
    })
  })
}
