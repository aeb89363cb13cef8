import { UserService } from "@authwire/proto"
import { StatusSchema } from "@authwire/proto/rpc/status"
import { create } from "@bufbuild/protobuf"
import { describe, expect, test } from "@jest/globals"
import { Failure } from "../errors.js"
import type { Room } from "../limits/room.js"
import type { Call } from "./call.js"
import { createDispatch, type Method, overloaded, register } from "./dispatch.js"
import type { Observer } from "./interceptor.js"

const asIs: Observer = { unary: (_, next) => next, stream: (_, next) => next, refused: () => {} }
const incoming = { door: "test", timeoutMs: undefined, header: () => undefined }

/** UserService behind a room, whose only method fails; and pauses before refusals, which end when they are told to. */
function setUp(room: Room) {
  const pauses: (() => void)[] = []
  const nobody = async () => {
    throw new Failure("USER_NOT_FOUND")
  }
  const implementation = Object.fromEntries(UserService.methods.map(({ localName }) => [localName, nobody]))
  const dispatch = createDispatch({
    services: [register(UserService, implementation as never)],
    observer: asIs,
    access: {},
    interceptors: [],
    maxDeadlineMs: 1_000,
    roomOf: () => room,
    beforeRefusal: () => new Promise((end) => pauses.push(end)),
    refuse: ({ reason }, method, door, requestId) => {
      const message = [reason, method.name, door, requestId].join()
      return { status: create(StatusSchema, { message }), bytes: 0 }
    },
  })
  return { dispatch, method: dispatch.services[0]?.methods[0] as Method, pauses }
}

describe("a call that there is no room for", () => {
  const full: Room = {
    enter: () => false,
    leave: () => {
      throw new Error("left without a place")
    },
    refuses: () => true,
    away: (waited) => waited,
  }

  test.each([
    ["as a message", ({ unary }: Method, call: Call) => unary(() => create(UserService.method.getUser.input), call)],
    [
      "as bytes, which nobody decodes",
      ({ unaryBytes }: Method, call: Call) => unaryBytes(() => Uint8Array.of(0xff), call),
    ],
  ])(
    "is refused after the pause that others leave it, %s",
    async (_, make: (method: Method, call: Call) => Promise<unknown>) => {
      const { dispatch, method, pauses } = setUp(full)
      const running = method.begin(incoming)
      let ended: unknown
      const call = make(method, running.call).catch((error: unknown) => {
        ended = error
      })
      await new Promise((resolve) => setImmediate(resolve))
      expect(ended).toBeUndefined()
      expect(pauses).toHaveLength(1)
      pauses[0]?.()
      await call
      expect(ended).toMatchObject({ reason: "OVERLOADED", retryAfterMs: 1_000 })
      running.end()
      await dispatch.drain(0)
    },
  )

  test("is refused after a pause before it begins, where a door can do that", async () => {
    const { method, pauses } = setUp(full)
    expect(method.isFull()).toBe(true)
    const pause = method.beforeRefusal()
    expect(pauses).toHaveLength(1)
    pauses[0]?.()
    await pause
    expect(method.refuse("a door", "an id").message).toBe("OVERLOADED,CreateUser,a door,an id")
  })

  test("is refused without another pause where the door brings the refusal", async () => {
    const { method, pauses } = setUp(full)
    const running = method.begin({ ...incoming, rejection: overloaded() })
    await expect(method.unaryBytes(() => Uint8Array.of(), running.call)).rejects.toMatchObject({ reason: "OVERLOADED" })
    expect(pauses).toEqual([])
    running.end()
  })
})

test("a call takes its place when its request is there, and leaves it when it ends, however that is", async () => {
  const places: number[] = []
  let inside = 0
  const { dispatch, method, pauses } = setUp({
    enter: () => {
      places.push(++inside)
      return true
    },
    refuses: () => false,
    away: (waited) => waited,
    leave: () => {
      places.push(--inside)
    },
  })
  expect(method.isFull()).toBe(false)
  const request = Promise.withResolvers<Uint8Array>()
  const failing = method.begin(incoming)
  const failed = method.unaryBytes(() => request.promise, failing.call)
  const leaving = method.begin(incoming)
  const left = method.unaryBytes(() => new Promise(() => {}), leaving.call)
  leaving.cancel()
  await expect(left).rejects.toMatchObject({ reason: "CANCELLED" })
  expect(places).toEqual([])
  request.resolve(Uint8Array.of())
  await expect(failed).rejects.toMatchObject({ reason: "USER_NOT_FOUND" })
  expect(places).toEqual([1, 0])
  failing.end()
  leaving.end()
  expect(pauses).toEqual([])
  await dispatch.drain(0)
})
