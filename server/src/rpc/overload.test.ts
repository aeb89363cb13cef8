import { EventService, UserService, WatchRequestSchema } from "@authwire/proto"
import { create } from "@bufbuild/protobuf"
import { expect, test } from "@jest/globals"
import { Failure, type Reason } from "../errors/failure.js"
import { type ConcurrencyLimit, overloaded } from "../overload/concurrency-limit.js"
import type { Call } from "./call.js"
import type { Observer } from "./interceptor.js"
import { createRouter, type Method, register } from "./router.js"

const asIs: Observer = {
  clock: () => 0,
  recorderOf: () => () => {},
  rejected() {},
}
const incoming = { transport: "test", timeoutMs: undefined, header: () => undefined }

/**
 * UserService behind a concurrency limit, and EventService. All their methods fail with USER_NOT_FOUND, or with another failure, those of
 * UserService after `work`.
 */
function setUp(
  limit: ConcurrencyLimit | undefined,
  failure = new Failure("USER_NOT_FOUND"),
  work = async (_: unknown, _call: Call) => {},
) {
  const fails = async (request: unknown, _caller: unknown, call: Call) => {
    await work(request, call)
    throw failure
  }
  const implementation = Object.fromEntries(UserService.methods.map(({ localName }) => [localName, fails]))
  const events = {
    async *watch({ startCursor }: { startCursor: string }) {
      if (startCursor === "fails later") yield {}
      throw failure
    },
  }
  const pauses: number[] = []
  const router = createRouter({
    services: [register(UserService, implementation as never), register(EventService, events as never)],
    observer: asIs,
    access: {},
    interceptors: [],
    maxDeadlineMs: 1_000,
    limitOf: () => limit,
    pauseAfter: async (workMs) => {
      pauses.push(workMs)
    },
  })
  const [method, stream] = router.services.map(({ methods }) => methods[0] as Method) as [Method, Method]
  return { router, method, stream, pauses }
}

/** Begins a call with a valid key, whose stream is counted. */
function beginWithKey(method: Method) {
  const call = method.begin(incoming)
  call.identity = { tenant: "a tenant", keyId: "a key", hasScope: () => true }
  call.isCounted = true
  return call
}

/** Fails before a call has a slot. */
const rejecting = (reason: Reason): ConcurrencyLimit => ({
  rejects: () => true,
  enter: () => Promise.reject(new Failure(reason)),
  leave: () => {
    throw new Error("left without a slot")
  },
  load: () => ({ maxCalls: 1, active: 0, waiting: 0, keys: 0 }),
})

test("a call beyond the limit is rejected before its request is read", async () => {
  const { router, method } = setUp({ ...rejecting("OVERLOADED"), enter: () => Promise.reject(overloaded()) })
  expect(method.rejects({ tenant: "a tenant", keyId: "a key" })).toBe(true)
  const call = beginWithKey(method)
  const read = () => {
    throw new Error("it was read")
  }
  const rejection = { reason: "OVERLOADED", retryAfterMs: 1_000 }
  await expect(method.unaryBytes(read, call)).rejects.toMatchObject(rejection)
  call.end()
  await router.drain(0)
})

test.each<[Reason, number]>([
  ["OVERLOADED", 1],
  ["RATE_LIMITED", 0],
  ["TOO_MANY_CALLS", 1],
  ["DATABASE_UNAVAILABLE", 0],
])("a call and a stream that are rejected with %s are answered after %i pause", async (reason, count) => {
  const unary = setUp(rejecting(reason))
  const call = beginWithKey(unary.method)
  await expect(unary.method.unaryBytes(() => Uint8Array.of(), call)).rejects.toMatchObject({ reason })
  expect(unary.pauses).toHaveLength(count)
  call.end()
  const { stream, pauses } = setUp(undefined, new Failure(reason))
  const read = async (startCursor: string, begun: Call) => {
    const requests = (async function* () {
      yield create(WatchRequestSchema, { startCursor })
    })()
    const reading = (async () => {
      for await (const _ of stream.stream(requests, begun));
    })()
    await expect(reading).rejects.toMatchObject({ reason })
    begun.end()
  }
  await read("", beginWithKey(stream))
  expect(pauses).toHaveLength(count)
  // Its client has been served.
  await read("fails later", beginWithKey(stream))
  // Its key has too many streams, which is why it was rejected, or it has no key.
  const beyond = beginWithKey(stream)
  beyond.isCounted = false
  await read("", beyond)
  expect(pauses).toHaveLength(count)
})

test("a call that has a slot in the concurrency limit does not keep it for a pause", async () => {
  const { method, pauses } = setUp(undefined, new Failure("OVERLOADED"))
  const call = beginWithKey(method)
  await expect(method.unaryBytes(() => Uint8Array.of(), call)).rejects.toMatchObject({ reason: "OVERLOADED" })
  expect(pauses).toHaveLength(0)
  call.end()
})

test("a call that gives up its slot before it ends leaves the limit once", async () => {
  let inside = 0
  const limit = {
    enter: () => void inside++,
    rejects: () => false,
    load: () => ({ maxCalls: 1, active: 0, waiting: 0, keys: 0 }),
    leave: () => void inside--,
  }
  const waits = Promise.withResolvers<void>()
  const { method } = setUp(limit, new Failure("USER_NOT_FOUND"), async (_, call) => {
    call.leaveLimit()
    await waits.promise
    call.leaveLimit()
  })
  const call = beginWithKey(method)
  const answered = method.unaryBytes(() => Uint8Array.of(), call)
  await new Promise(setImmediate)
  expect(inside).toBe(0)
  waits.resolve()
  await expect(answered).rejects.toMatchObject({ reason: "USER_NOT_FOUND" })
  expect(inside).toBe(0)
  call.end()
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
