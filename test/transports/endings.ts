import type { AuthwireClient } from "@authwire/client"
import { type HeldRow, withHeldRow } from "@authwire/test-support/databases/held-row.js"
import type { CallOptions } from "@connectrpc/connect"
import { describe, expect, test } from "@jest/globals"
import type { Carrier } from "./carriers.js"
import { failureOf, linesOf, logged, type World } from "./world.js"

/** Makes a call that waits for the locked row. */
const slow = (client: AuthwireClient, { request }: Pick<HeldRow, "request">, options: CallOptions) =>
  client.users.updateUser(request, options)

export function describeEndings(world: World, carrier: Carrier): void {
  const client = () => world.clients[carrier.name] as AuthwireClient
  const named = () => {
    const id = crypto.randomUUID()
    return { id, headers: { "x-request-id": id } }
  }
  const expectWell = async () => expect(await client().adapter.getUser("nobody")).toBeNull()

  describe("a slow call", () => {
    test("does not delay other calls of its client", async () => {
      await withHeldRow(world.authwire, async (row) => {
        const call = slow(client(), row, { timeoutMs: 0 })
        await row.waiting(1)
        await Promise.all(Array.from({ length: 50 }, expectWell))
        await row.release()
        await call
      })
    })

    test("fails with DEADLINE_EXCEEDED on both sides when its deadline has passed", async () => {
      await withHeldRow(world.authwire, async (row) => {
        const { id, headers } = named()
        const call = failureOf(slow(client(), row, { headers, timeoutMs: 3_000 }))
        await row.waiting(1)
        expect(await call).toMatchObject({ code: "DeadlineExceeded" })
        const lines = await linesOf(world.server, id)
        expect(lines).toMatchObject([{ code: expect.stringMatching(/^(DEADLINE_EXCEEDED|CANCELLED)$/) }])
        await expectWell()
      })
    })

    test("has the deadline of its client, or none if the call has none", async () => {
      const own = carrier.connect(world.server, { timeoutMs: 200 })
      await withHeldRow(world.authwire, async (row) => {
        const unlimited = slow(own, row, { timeoutMs: 0 })
        expect(await failureOf(slow(own, row, {}))).toMatchObject({ code: "DeadlineExceeded" })
        await row.release()
        await unlimited
      })
      own.close()
    })

    test("that is cancelled is CANCELLED on both sides, with the caller's reason, and leaves nothing behind", async () => {
      await withHeldRow(world.authwire, async (row) => {
        const { id, headers } = named()
        const giveUp = new AbortController()
        const call = failureOf(slow(client(), row, { headers, signal: giveUp.signal, timeoutMs: 0 }))
        await row.waiting(1)
        giveUp.abort(new Error("no longer wanted"))
        expect(await call).toMatchObject({ code: "Canceled", message: "no longer wanted" })
        expect(await linesOf(world.server, id)).toMatchObject([{ code: "CANCELLED", reason: "CANCELLED" }])
        await expectWell()
      })
    })
  })

  describe("a signal", () => {
    test("that was aborted before the call: the call is CANCELLED and not sent", async () => {
      const { id, headers } = named()
      const call = client().users.getUser(
        { id: "nobody" },
        { headers, signal: AbortSignal.abort(new Error("too late")) },
      )
      expect(await failureOf(call)).toMatchObject({ code: "Canceled", message: "too late" })
      await expectWell()
      await logged(world)
      expect(world.server.log()).not.toContain(id)
    })

    test("that is aborted after the response changes nothing", async () => {
      const giveUp = new AbortController()
      const { id, headers } = named()
      const call = failureOf(client().users.getUser({ id: "nobody" }, { headers, signal: giveUp.signal }))
      expect(await call).toMatchObject({ code: "NotFound" })
      giveUp.abort()
      await expectWell()
      expect(await linesOf(world.server, id)).toMatchObject([{ code: "NOT_FOUND" }])
    })
  })

  test("with a maximum deadline of 300 ms, any timeout ends after that time, with the error of the service", async () => {
    const own = carrier.connect(world.hurried)
    await withHeldRow(world.authwire, async ({ requests }) => {
      const { id, headers } = named()
      // Different users, so that a statement of each call is running when its time is over.
      const failed = await Promise.all(
        [0, 20_000, 2 ** 31 - 1].map((timeoutMs, n) =>
          failureOf(slow(own, { request: requests[n as 0] }, { headers, timeoutMs })),
        ),
      )
      for (const one of failed)
        expect(one).toEqual({
          code: "DeadlineExceeded",
          message: "the deadline of the call has passed",
          infos: [{ reason: "DEADLINE_EXCEEDED", domain: "authwire", metadata: { request_id: id } }],
          violations: [],
          details: ["google.rpc.ErrorInfo"],
        })
    })
    own.close()
  })
}
