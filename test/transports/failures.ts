import type { AuthwireClient } from "@authwire/client"
import { ErrorReason, GetTokenRequestSchema } from "@authwire/proto"
import { breachesOf, brokenRequest } from "@authwire/test-support/schema/breaches.js"
import { create, toBinary } from "@bufbuild/protobuf"
import { beforeAll, describe, expect, test } from "@jest/globals"
import { type Carrier, carriers } from "./carriers.js"
import { prepareRejections, rejections } from "./rejections.js"
import { call, failureOf, linesOf, maxMessageBytes, maxPipelinedBytes, methods, type World } from "./world.js"

/** Reasons that can occur with any carrier, and those that only the pipeline or the state of the service can cause. */
const elsewhere = [
  ["UNSPECIFIED", "INVALID_FIELD", "INTERNAL", "DEADLINE_EXCEEDED", "CANCELLED", "SHUTTING_DOWN"],
  // Tested for every carrier in the tests of repetitions.
  ["IDEMPOTENCY_KEY_REUSED"],
  // Reasons of EventService.Watch, which is a stream.
  ["CURSOR_EXPIRED", "EVENTS_NOT_KEPT"],
  // Tested in the tests of session caches.
  ["CACHES_NOT_CONFIRMED"],
  // Tested in the tests of tenants.
  ["TENANT_ALREADY_EXISTS"],
  // Tested in the tests of session policies.
  ["SESSION_LIMIT_REACHED"],
  ["CONFLICT", "DATABASE_UNAVAILABLE", "STATEMENT_TIMEOUT", "QUEUE_FULL", "SERVICE_UNKNOWN"],
  [
    "AUDIT_LOG_UNAVAILABLE",
    "METHOD_UNKNOWN",
    "TOO_MANY_CALLS",
    "ANSWERS_NOT_TAKEN",
    "RATE_LIMITED",
    "OVERLOADED",
    "ENCRYPTION_KEY_MISSING",
  ],
  // Tested for every transport in the tests of access.
  ["API_KEY_MISSING", "API_KEY_INVALID", "SCOPE_MISSING"],
  // Tested in the tests of provider tokens.
  ["REFRESH_REFUSED", "CLIENT_REFUSED", "PROVIDER_UNAVAILABLE"],
  // Tested in the tests of signals.
  ["SIGNAL_REFUSED"],
  // Tested for both listeners in the tests of tokens.
  ["MISSING_SECRET", "TOKEN_ALGORITHM_NOT_ALLOWED", "NO_MATCHING_SECRET", "TOKEN_EXPIRED", "TOKEN_NOT_YET_VALID"],
].flat()

export function describeFailures(world: World, carrier: Carrier): void {
  const client = () => world.clients[carrier.name] as AuthwireClient
  const options = { headers: { "x-request-id": "of-the-failures" } }
  const metadata = { request_id: "of-the-failures" }

  // Rules are checked, and reasons are chosen, behind all transports. One of each kind shows how a carrier carries them.
  const firstOf = <T>(all: readonly T[], kindOf: (one: T) => unknown) =>
    carrier === carriers[0] ? all : all.filter((one, n) => all.findIndex((two) => kindOf(two) === kindOf(one)) === n)

  test("a broken rule has the same code, message, reason and violations", async () => {
    for (const method of firstOf(methods, ({ parent }) => parent)) {
      const breaches = breachesOf(method)
      // One violation per field. test/adapter/bad-input.test.ts makes each alone. For a message field these are its inner fields, because the
      // message itself must be present.
      const first = new Map(breaches.toReversed().map((breach) => [breach.field, breach]))
      const hasParts = (name: string) => breaches.some(({ field }) => field.startsWith(`${name}.`))
      const together = [...first.values()].filter(({ field }) => !hasParts(field))
      const request = brokenRequest(method, ...together)
      const expected = await failureOf(call(world.reference, method, request, options))
      expect(expected).toMatchObject({
        code: "InvalidArgument",
        infos: [{ reason: "INVALID_FIELD", domain: "authwire", metadata }],
        details: ["google.rpc.ErrorInfo", "google.rpc.BadRequest"],
      })
      expect(expected.violations.length).toBeGreaterThanOrEqual(together.length)
      expect([method.name, await failureOf(call(client(), method, request, options))]).toEqual([method.name, expected])
    }
  })

  describe("a rejection has the same code, message and reason", () => {
    beforeAll(async () => {
      const prepared = await world.reference.adapter.getUser("here")
      if (prepared === null) await prepareRejections(world.reference)
    })

    test("every reason is covered", () => {
      const reasons = Object.keys(ErrorReason).filter((name) => Number.isNaN(Number(name)))
      expect(new Set([...rejections.map(([reason]) => reason), ...elsewhere])).toEqual(new Set(reasons))
    })

    test("of every method", async () => {
      for (const [reason, method, request] of firstOf(rejections, ([reason]) => reason)) {
        const expected = await failureOf(call(world.reference, method, request, options))
        expect(expected).toMatchObject({
          infos: [{ reason, domain: "authwire", metadata }],
          violations: [],
          details: ["google.rpc.ErrorInfo"],
        })
        expect([method.name, await failureOf(call(client(), method, request, options))]).toEqual([
          method.name,
          expected,
        ])
      }
    })
  })

  describe("a request", () => {
    test.each([
      ["that fills the largest one that a pipeline carries", maxPipelinedBytes, "way"],
      ["one byte larger than a pipeline carries", maxPipelinedBytes + 1, "ownWay"],
      ["as large as the service takes", maxMessageBytes, "ownWay"],
    ] as const)("%s is answered", async (_, bytes, way) => {
      const id = crypto.randomUUID()
      // In a pipeline the headers of a call add to its size. So this call has only those of its client, which belong to
      // the stream.
      const own = carrier.connect(world.server, { headers: { "x-a": "b" } })
      await own.tokens.getToken(requestOf(bytes))
      own.close()
      expect((await client().tokens.getToken(requestOf(bytes), { headers: { "x-request-id": id } })).result.case).toBe(
        undefined,
      )
      const [line] = await linesOf(world.server, id)
      // With a header of its own, the largest request does not quite fit into a pipeline.
      expect(line).toMatchObject({
        code: "OK",
        transport: bytes === maxPipelinedBytes ? carrier.ownWay : carrier[way],
      })
    })

    test("one byte larger than the limit is RESOURCE_EXHAUSTED, and concurrent and later calls are answered", async () => {
      const large = failureOf(client().tokens.getToken(requestOf(maxMessageBytes + 1)))
      const beside = await Promise.all(["a", "b"].map((id) => client().adapter.getUser(id)))
      expect(beside).toEqual([null, null])
      expect((await large).code).toBe("ResourceExhausted")
      for (let count = 0; count < 20; count++) expect(await client().adapter.getUser("nobody")).toBeNull()
      if (carrier.isGrpc)
        expect(await large).toEqual(await failureOf(world.reference.tokens.getToken(requestOf(maxMessageBytes + 1))))
    })
  })
}

/** Returns a valid request of this many bytes. */
function requestOf(bytes: number) {
  const request = (length: number) => ({
    headers: [length, maxMessageBytes / 4, maxMessageBytes / 4].map((each) => ({ name: "x", value: "v".repeat(each) })),
  })
  const sizeOf = (length: number) =>
    toBinary(GetTokenRequestSchema, create(GetTokenRequestSchema, request(length))).length
  const length = maxMessageBytes / 4
  return request(length + bytes - sizeOf(length))
}
