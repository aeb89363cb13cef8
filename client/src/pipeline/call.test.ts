import { GetUserResponseSchema, UserService } from "@authwire/proto"
import { create, type DescMethodUnary, toBinary } from "@bufbuild/protobuf"
import { Code } from "@connectrpc/connect"
import { afterEach, beforeEach, expect, jest, test } from "@jest/globals"
import type { Unary } from "../transport/layer.js"
import { PipelinedCall } from "./call.js"

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ["setImmediate"] })
})
afterEach(() => {
  jest.useRealTimers()
})

const answer = toBinary(GetUserResponseSchema, create(GetUserResponseSchema))

/** A call with a deadline of a second, in a queue. */
function begin() {
  const abort = new AbortController()
  const call = new PipelinedCall({
    method: UserService.method.getUser as DescMethodUnary,
    input: { id: "u" },
    header: {},
    timeoutMs: 1_000,
    signal: abort.signal,
  })
  const drop = jest.fn()
  call.owner = { drop }
  return { call, abort, drop }
}

test("a call that is answered leaves its queue once, and no timer", async () => {
  const { call, abort, drop } = begin()
  call.answer(answer)
  await call.response
  expect(jest.getTimerCount()).toBe(0)
  call.owner = { drop }
  abort.abort()
  call.answer(answer)
  expect(drop).toHaveBeenCalledTimes(1)
  expect(call.slot.call).toBeUndefined()
})

test("a call ends at its deadline, or when it is cancelled", async () => {
  for (const isCancelled of [false, true]) {
    const { call, abort, drop } = begin()
    const failed = expect(call.response).rejects.toMatchObject({
      code: isCancelled ? Code.Canceled : Code.DeadlineExceeded,
    })
    jest.advanceTimersByTime(999)
    expect(drop).not.toHaveBeenCalled()
    if (isCancelled) abort.abort()
    else jest.advanceTimersByTime(1)
    await failed
    expect([drop.mock.calls.length, jest.getTimerCount()]).toEqual([1, 0])
  }
})

test("a call whose answer has arrived when its time is over is answered", async () => {
  const { call } = begin()
  jest.advanceTimersByTime(1_000)
  call.answer(answer)
  await new Promise((resolve) => setImmediate(resolve))
  expect(await call.response).toMatchObject({ message: {} })
})

test("a call that is made in another way has the time that is left", () => {
  const { call, drop } = begin()
  jest.advanceTimersByTime(400)
  const unary = jest.fn(() => new Promise(() => {}))
  call.makeBy(unary as unknown as Unary)
  expect((unary.mock.calls[0] as unknown[])[2]).toBe(600)
  expect([drop.mock.calls.length, jest.getTimerCount()]).toEqual([1, 0])
})
