import { UserService } from "@authwire/proto"
import { expect, test } from "@jest/globals"
import { Failure } from "../errors/failure.js"
import { type ConcurrencyLimit, overloaded } from "../overload/concurrency-limit.js"
import type { Observer } from "./interceptor.js"
import { createRouter, type Method, register } from "./router.js"

const asIs: Observer = {
  clock: () => 0,
  of: () => () => {},
  rejected() {},
}
const incoming = { transport: "test", timeoutMs: undefined, header: () => undefined }

/** UserService behind a concurrency limit. All its methods fail with USER_NOT_FOUND. */
function setUp(limit: ConcurrencyLimit) {
  const notFound = async () => {
    throw new Failure("USER_NOT_FOUND")
  }
  const implementation = Object.fromEntries(UserService.methods.map(({ localName }) => [localName, notFound]))
  const pauses: number[] = []
  const router = createRouter({
    services: [register(UserService, implementation as never)],
    observer: asIs,
    access: {},
    interceptors: [],
    maxDeadlineMs: 1_000,
    limitOf: () => limit,
    pauseAfter: async (workMs) => {
      pauses.push(workMs)
    },
  })
  return { router, method: router.services[0]?.methods[0] as Method, pauses }
}

test("a call beyond the limit is rejected before its request is read", async () => {
  const { router, method, pauses } = setUp({
    rejects: () => true,
    enter: () => Promise.reject(overloaded()),
    leave: () => {
      throw new Error("left without a slot")
    },
    yieldWhile: (_, waited) => waited,
    load: () => ({ maxCalls: 1, active: 0, waiting: 0, keys: 0 }),
  })
  expect(method.rejects({ tenant: "a tenant", keyId: "a key" })).toBe(true)
  const call = method.begin(incoming)
  const read = () => {
    throw new Error("it was read")
  }
  const rejection = { reason: "OVERLOADED", retryAfterMs: 1_000 }
  await expect(method.unaryBytes(read, call)).rejects.toMatchObject(rejection)
  expect(pauses).toHaveLength(1)
  call.end()
  await router.drain(0)
})

test("a call holds no slot while its request arrives, and releases its slot however it ends", async () => {
  const taken: number[] = []
  let inside = 0
  const { router, method } = setUp({
    enter: () => {
      taken.push(++inside)
      return undefined
    },
    rejects: () => false,
    yieldWhile: (_, waited) => waited,
    load: () => ({ maxCalls: 1, active: 0, waiting: 0, keys: 0 }),
    leave: () => {
      taken.push(--inside)
    },
  })
  const request = Promise.withResolvers<Uint8Array>()
  const failing = method.begin(incoming)
  const failed = method.unaryBytes(() => request.promise, failing)
  const leaving = method.begin(incoming)
  const left = method.unaryBytes(() => new Promise(() => {}), leaving)
  leaving.cancel()
  await expect(left).rejects.toMatchObject({ reason: "CANCELLED" })
  expect(inside).toBe(0)
  taken.length = 0
  request.resolve(Uint8Array.of())
  await expect(failed).rejects.toMatchObject({ reason: "USER_NOT_FOUND" })
  expect(taken).toEqual([1, 0])
  failing.end()
  leaving.end()
  await router.drain(0)
})
