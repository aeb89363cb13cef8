import type { AuthwireClient } from "@authwire/client"
import { UserService } from "@authwire/proto"
import { describe, expect, test } from "@jest/globals"
import { type Carrier, unary } from "./carriers.js"
import { type Failed, failureOf, linesOf, logged, type World } from "./world.js"

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

export function describeHeaders(world: World, carrier: Carrier): void {
  const client = () => world.clients[carrier.name] as AuthwireClient
  const name = `${UserService.typeName}/GetUser`
  /** Makes a call that fails, because the error contains the request id. */
  const ask = (headers: Record<string, string>, by = client()) =>
    failureOf(by.users.getUser({ id: "nobody" }, { headers }))
  /** The request id of a failed call. Without one it is the whole failure, so that a failed comparison tells its cause. */
  const idOf = (failed: Failed) => failed.infos[0]?.metadata.request_id ?? JSON.stringify(failed)

  describe("x-request-id", () => {
    test("is in the error and in the log; concurrent calls keep their own", async () => {
      const ids = Array.from({ length: 20 }, (_, n) => `${crypto.randomUUID()}:a.b-c_${n}`)
      const failed = await Promise.all(ids.map((id) => ask({ "x-request-id": id })))
      expect(failed.map(idOf)).toEqual(ids)
      await logged(world)
      for (const id of ids)
        expect(await linesOf(world.server, id)).toMatchObject([
          { method: name, transport: carrier.way, code: "NOT_FOUND" },
        ])
    })

    test("is a UUID if a call has none, or an invalid one", async () => {
      const strange = [{}, {}, { "x-request-id": "has spaces" }, { "x-request-id": "x".repeat(129) }]
      const failed = await Promise.all([...strange, { "x-request-id": "" }].map((headers) => ask(headers)))
      for (const one of failed) expect(idOf(one)).toMatch(uuid)
      expect(new Set(failed.map(idOf)).size).toBe(failed.length)
      for (const one of failed) expect(await linesOf(world.server, idOf(one))).toHaveLength(1)
    })

    test("of the client applies to each of its calls; that of a call takes precedence", async () => {
      const [ofClient, ofCall] = [crypto.randomUUID(), crypto.randomUUID()]
      const own = carrier.connect(world.server, { headers: { "X-Request-Id": ofClient } })
      const failed = await Promise.all([ask({}, own), ask({ "x-request-id": ofCall }, own), ask({ "x-b": "c" }, own)])
      expect(failed.map(idOf)).toEqual([ofClient, ofCall, ofClient])
      own.close()
    })
  })

  test("authorization of a call: it is sent separately and answered, and other calls are not affected", async () => {
    const own = carrier.connect(world.server, { apiKey: "of-the-client" })
    const ids = [crypto.randomUUID(), crypto.randomUUID()] as const
    const [with_, without] = await Promise.all([
      ask({ "x-request-id": ids[0], authorization: "Bearer of-the-call" }, own),
      ask({ "x-request-id": ids[1] }, own),
    ])
    expect([idOf(with_), idOf(without)]).toEqual(ids)
    expect(await linesOf(world.server, ids[0])).toMatchObject([{ transport: carrier.ownWay, code: "NOT_FOUND" }])
    expect(await linesOf(world.server, ids[1])).toMatchObject([{ transport: carrier.way, code: "NOT_FOUND" }])
    own.close()
  })

  test("binary, many and large headers arrive, and the call is answered", async () => {
    const many = Object.fromEntries(Array.from({ length: 70 }, (_, n) => [`x-${n}`, "v"]))
    for (const headers of [{ "x-bytes-bin": "AP8=" }, many, { "x-large": "v".repeat(8_000) }, { "x-empty": "" }]) {
      const id = crypto.randomUUID()
      expect(idOf(await ask({ ...headers, "x-request-id": id } as Record<string, string>))).toBe(id)
    }
  })

  test("large headers of many concurrent calls do not affect any of them", async () => {
    const ids = Array.from({ length: 400 }, () => crypto.randomUUID())
    const value = "v".repeat(3_900)
    const failed = await Promise.all(ids.map((id) => ask({ "x-request-id": id, "x-large": value })))
    expect(failed.map(idOf)).toEqual(ids)
  })

  test.each([
    ["a name that gRPC does not carry", { "x+y": "hünter2".replace("ü", "u") }],
    ["a value that is not ASCII", { "x-name": "hünter2" }],
    ["a name that is far too long", { [`x${"-".repeat(300)}`]: "v" }],
  ])("%s has the same outcome as in a call of its own, and hurts no other call", async (_, headers) => {
    if (!carrier.isGrpc) return
    const id = { "x-request-id": "of-the-headers" }
    const [failed, beside] = await Promise.all([ask({ ...headers, ...id }), ask(id)])
    expect(failed).toEqual(await ask({ ...headers, ...id }, world.reference))
    expect(failed.message).not.toContain("nter2")
    expect(beside).toEqual(await ask(id, world.reference))
  })

  test("headers of the client are sent together with those of the call", async () => {
    const options = { headers: { "x-one": "1" }, apiKey: "key" }
    const own = carrier.connect(world.server, options)
    const reference = unary.connect(world.server, options)
    const headers = { "x-two": "2", "x-request-id": "of-both" }
    expect(await ask(headers, own)).toEqual(await ask(headers, reference))
    for (const one of [own, reference]) one.close()
  })
}
