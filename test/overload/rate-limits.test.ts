import { randomUUID } from "node:crypto"
import { rejection } from "@authwire/test-support/connections/rejected.js"
import { type DatabaseTarget, serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { openService } from "@authwire/test-support/processes/service.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { pino } from "pino"
import type { Interceptor } from "../../server/src/rpc/interceptor.js"
import { openHttpListener } from "../../server/src/transport/connect/http.js"
import { openGrpcListener } from "../../server/src/transport/grpc/grpc.js"
import { formatAddress } from "../../server/src/util/address.js"
import { carriers } from "../transports/carriers.js"

/**
 * Takes the value of the authorization header as the key's name. Without a key, every call is admitted, as with
 * `--dev`.
 */
const named: Interceptor = {
  admit: () => (call) => {
    call.identity = { keyId: call.header("authorization"), tenant: "default", hasScope: () => true }
    return undefined
  },
}

/** The number of GetUser calls that a key may make per second. */
const perSecond = 10
/** The time until the next call is allowed after all were made, in milliseconds. */
const nextMs = 1_000 / perSecond

/** Opens a service with both listeners, whose clock advances only on request. */
async function openListeners(target: DatabaseTarget) {
  const database = await createStoreDatabase(target)
  const store = await database.openStore()
  const time = { now: 0 }
  const lines: string[] = []
  const { router, transport } = openService(store, {
    clock: () => time.now,
    log: pino({ base: null }, { write: (line: string) => lines.push(line) }),
    access: named,
    configuration: { rateLimit: 1_000, rateLimitOverrides: { "UserService.GetUser": perSecond } },
  })
  const transports = [await openGrpcListener(transport), await openHttpListener(transport)] as const
  const [grpcUrl, httpUrl] = transports.map(({ address }) => `http://${formatAddress(address)}`) as [string, string]
  return {
    ...{ grpcUrl, httpUrl, time, lines },
    async close() {
      for (const transport of transports) transport.stopAccepting()
      await router.drain(1_000)
      await Promise.all(transports.map((transport) => transport.closed(1_000)))
      await database.drop()
    },
  }
}

const target = serviceDatabase()

describe("a key exceeds the rate limit of a method", () => {
  let service: Awaited<ReturnType<typeof openListeners>>
  beforeAll(async () => {
    service = await openListeners(target)
  })
  afterAll(() => service.close())

  test.each(carriers)(
    "S-45: $name: it is rejected with the time of the next call, and admitted then",
    async (carrier) => {
      // The client retries a rejected call after the time that the service gives. The service's clock stands still.
      const client = carrier.connect(service, { apiKey: randomUUID(), timeoutMs: 30_000 })
      const getUser = () => client.users.getUser({ id: "nobody" })
      const allowed = Array.from({ length: perSecond }, () => client.adapter.getUser("nobody"))
      expect(new Set(await Promise.all(allowed))).toEqual(new Set([null]))
      expect(await rejection(getUser())).toBe(`ResourceExhausted RATE_LIMITED ${nextMs}`)
      service.time.now += nextMs - 1
      expect(await rejection(getUser())).toBe("ResourceExhausted RATE_LIMITED 1")
      service.time.now += 1
      await expect(getUser()).rejects.toMatchObject({ code: "NOT_FOUND" })
      expect(await rejection(getUser())).toBe(`ResourceExhausted RATE_LIMITED ${nextMs}`)
      client.close()
    },
  )

  test("rejected calls have no log lines of their own", () => {
    const codes = service.lines.map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(codes.filter(({ msg }) => msg === "call").length).toBeGreaterThan(0)
    expect(codes.filter(({ reason }) => reason === "RATE_LIMITED")).toEqual([])
  })
})
