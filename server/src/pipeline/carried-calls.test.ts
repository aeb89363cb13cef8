import { afterEach, beforeEach, expect, jest, test } from "@jest/globals"
import { answerBytes, callBytes, one, openStream, settle, size, waitingBytes } from "../../test/carried-stream.js"
import { Failure } from "../errors/failure.js"
import { rejectionMs } from "../overload/pause.js"
import { Budget } from "../util/budget.js"

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ["nextTick", "queueMicrotask", "setImmediate"] })
})
afterEach(() => {
  jest.useRealTimers()
})

test("S-42: the bytes of requests and answers count until a call is over and its answer is sent", async () => {
  const { begun, next, send, halfClose, taken } = await openStream()
  const answering = next()
  await send(one(1, 100, { "x-a": "12345" }))
  await send(one(2, 200))
  expect(taken()).toEqual([2 * callBytes + 64 + 308, 0])
  begun[0]?.answer(30)
  await settle()
  expect((await answering)?.answers).toMatchObject([{ id: 1, outcome: { case: "message" } }])
  // The client has not taken it yet.
  expect(taken()).toEqual([callBytes + 200, answerBytes + 30])
  const failing = next()
  await settle()
  expect(taken()).toEqual([callBytes + 200, 0])
  begun[1]?.fail()
  expect((await failing)?.answers).toMatchObject([{ id: 2, outcome: { case: "error" } }])
  const [, ofError = 0] = taken()
  // An error has details, whose objects take memory.
  expect(ofError).toBeGreaterThan(answerBytes + 512)
  const last = next()
  await settle()
  expect(taken()).toEqual([0, 0])
  await halfClose()
  expect(await last).toBeUndefined()
  expect(begun.map(({ end }) => end.mock.calls.length)).toEqual([1, 1])
})

test("a call beyond the number of calls or the memory of its connection is rejected, and takes nothing", async () => {
  const { begun, next, send, taken } = await openStream({ maxInFlight: 2 })
  await send(one(1, size - 4_000 - callBytes))
  await send(one(2, 4_001 - callBytes))
  await send(one(3, 4_000 - callBytes))
  await send(one(4, 0))
  // Both errors are the same one.
  expect(taken()).toEqual([size, 2 * answerBytes])
  const rejected = [(await next())?.answers, (await next())?.answers].flat()
  expect(rejected.map((answer) => [answer?.id, answer?.outcome.case])).toEqual([
    [2, "error"],
    [4, "error"],
  ])
  expect(begun).toHaveLength(2)
})

test("a call of a key with too many waiting calls is rejected, and takes nothing", async () => {
  const { begun, next, send, taken } = await openStream({ rejects: ({ keyId }) => keyId === undefined })
  await send(one(1, 100))
  expect((await next())?.answers).toMatchObject([{ id: 1, outcome: { case: "error", value: { code: 8 } } }])
  expect([begun.length, taken()]).toEqual([0, [0, answerBytes]])
})

test("an answer for which there is no memory is replaced by an error", async () => {
  const { begun, next, send } = await openStream({ answers: new Budget(2_000) })
  await send(one(1))
  begun[0]?.answer(2_000)
  const answered = await next()
  // Without RetryInfo, because the call was executed.
  const value = { code: 8, details: [{ typeUrl: expect.stringContaining("ErrorInfo") }] }
  expect(answered?.answers).toMatchObject([{ id: 1, outcome: { case: "error", value } }])
})

test("S-42: a stream ends if there is no memory for an error, and then begins nothing", async () => {
  const { begun, next, send, taken } = await openStream({ answers: new Budget(2_000), maxInFlight: 20 })
  await send({ calls: [1, 2, 3].map((id) => ({ id, method: "any" })) })
  for (const { fail } of begun) fail()
  await settle()
  await send(one(4))
  expect(begun).toHaveLength(3)
  await expect(next()).rejects.toMatchObject({ reason: "ANSWERS_NOT_TAKEN" })
  expect(taken()).toEqual([0, 0])
})

test("S-42: a stream that ended for lack of memory reads no more messages while its client reads nothing", async () => {
  const { begun, next, send, unread, end, taken } = await openStream({ answers: new Budget(2_000), maxInFlight: 20 })
  await send({ calls: [1, 2, 3, 4].map((id) => ({ id, method: "any" })) })
  // It is on its way, and the client does not take it.
  begun.shift()?.answer(0)
  await next()
  for (const { fail } of begun) fail()
  await settle()
  for (let id = 5; id < 15; id++) await send(one(id))
  expect([begun.length, unread()]).toEqual([3, 9])
  await end()
  expect(taken()).toEqual([0, 0])
})

test("a call is rejected before it begins while so many answers wait that no more should be made", async () => {
  const { begun, next, send } = await openStream({ answers: new Budget(10_000, 1_000) })
  await send(one(1))
  begun[0]?.answer(1_000)
  await settle()
  await send(one(2))
  await next()
  const value = { code: 8, details: [{}, { typeUrl: expect.stringContaining("RetryInfo") }] }
  expect((await next())?.answers).toMatchObject([{ id: 2, outcome: { case: "error", value } }])
  expect(begun).toHaveLength(1)
})

test("the answer of a cancelled call is not given to a later call with its id, and takes nothing", async () => {
  const { begun, next, send, taken } = await openStream()
  await send(one(7, 100))
  // The method may answer although it was cancelled.
  begun[0]?.cancel.mockImplementation(() => {})
  await send({ cancelledIds: [7], ...one(7, 50) })
  expect(begun[0]?.cancel).toHaveBeenCalledTimes(1)
  begun[0]?.answer(300)
  await settle()
  expect(taken()).toEqual([callBytes + 50, 0])
  begun[1]?.answer(3)
  expect((await next())?.answers).toMatchObject([{ id: 7, outcome: { case: "message", value: { length: 3 } } }])
  expect(begun.map(({ end }) => end.mock.calls.length)).toEqual([1, 1])
})

test("the id of an active call ends the stream", async () => {
  const { begun, next, send } = await openStream()
  await send(one(1))
  await send(one(1))
  await expect(next()).rejects.toMatchObject({ reason: "INVALID_FIELD", violations: [{ field: "calls.id" }] })
  expect(begun).toHaveLength(1)
  expect(begun[0]?.cancel).toHaveBeenCalledTimes(1)
})

test("a call has the key of its stream, and neither its id, its trace nor its idempotency key", async () => {
  const ofStream = { "x-request-id": "s", "idempotency-key": "s", traceparent: "s", tracestate: "s" }
  const { begun, send } = await openStream({
    header: { authorization: "Bearer stream", "user-agent": "s", ...ofStream },
  })
  const names = ["authorization", "user-agent", ...Object.keys(ofStream)]
  await send(one(1, 0, { authorization: "Bearer another" }))
  await send(one(2, 0, Object.fromEntries(names.map((name) => [name, "own"]))))
  const headers = begun.map(({ options }) => names.map((name) => options.header(name)))
  expect(headers).toEqual([
    ["Bearer stream", "s", undefined, undefined, undefined, undefined],
    ["Bearer stream", "own", "own", "own", "own", "own"],
  ])
})

test("S-22: calls of a message wait for turns of the event loop, and until then take memory of the budget for all of it", async () => {
  const turns: (() => void)[] = []
  const owners: unknown[] = []
  const messageTurn = (owner: unknown) => {
    owners.push(owner)
    return new Promise<void>((resolve) => turns.push(resolve))
  }
  const { begun, send, taken } = await openStream({ maxInFlight: 20, messageTurn })
  await send({ calls: Array.from({ length: 20 }, (_, id) => ({ id, method: "any", message: new Uint8Array(10) })) })
  for (const [count, waiting] of [
    [0, 20],
    [16, 20],
    [20, 0],
  ] as const) {
    expect(begun).toHaveLength(count)
    expect(taken()).toEqual([count * (callBytes + 10) + waiting * (waitingBytes + 10), 0])
    turns.shift()?.()
    await settle()
  }
  const ofStream = { tenant: "default", keyId: undefined }
  expect(owners).toEqual([ofStream, ofStream])
})

test("S-22: calls that wait for a turn begin although the stream drains, and no other of its calls is active", async () => {
  const turns: (() => void)[] = []
  const waits = [undefined, new Promise<void>((resolve) => turns.push(resolve))]
  const { begun, send, draining } = await openStream({ messageTurn: () => waits.shift() })
  await send({ calls: [1, 2].map((id) => ({ id, method: "any" })) })
  begun[0]?.answer(0)
  await settle()
  draining.abort()
  jest.advanceTimersByTime(1_000)
  await settle()
  turns[0]?.()
  await settle()
  expect(begun).toHaveLength(2)
})

test("a stream that drains begins what has arrived, and waits for its turn, before it ends", async () => {
  const turns: (() => void)[] = []
  const waits = [new Promise<void>((resolve) => turns.push(resolve))]
  const { begun, send, draining } = await openStream({ messageTurn: () => waits.shift() })
  draining.abort()
  jest.advanceTimersByTime(1_000)
  await settle()
  await send({ calls: [{ id: 1, method: "any" }] })
  expect(begun).toHaveLength(1)
  turns[0]?.()
  await settle()
  begun[0]?.answer(0)
  await settle()
  await send({ calls: [{ id: 2, method: "any" }] })
  expect(begun).toHaveLength(1)
})

test("the deadline of a call that waits for a turn counts from its arrival", async () => {
  const turns: (() => void)[] = []
  const { begun, send } = await openStream({ messageTurn: () => new Promise((resolve) => turns.push(resolve)) })
  await send({ calls: [{ id: 1, method: "any", timeoutMs: 1_000 }] })
  jest.advanceTimersByTime(300)
  turns[0]?.()
  await settle()
  expect(begun.map(({ options }) => options.timeoutMs)).toEqual([700])
})

test("a stream that has ended begins none of the calls that wait for a turn, and gives their memory back", async () => {
  const turns: (() => void)[] = []
  const { begun, send, taken, abort } = await openStream({
    messageTurn: () => new Promise((resolve) => turns.push(resolve)),
  })
  await send({ calls: Array.from({ length: 40 }, (_, id) => ({ id, method: "any", message: new Uint8Array(10) })) })
  abort.abort(new Failure("CANCELLED"))
  await settle()
  turns.shift()?.()
  await settle()
  expect([begun.length, turns.length, taken()]).toEqual([0, 0, [0, 0]])
})

test("S-22: calls for which there is no memory do not wait for their turn", async () => {
  const { begun, send, taken } = await openStream({ messageTurn: () => new Promise(() => {}) })
  await send({ calls: [1, 2, 3, 4].map((id) => ({ id, method: "any", message: new Uint8Array(18_000) })) })
  expect(begun).toHaveLength(3)
  expect(taken()).toEqual([3 * (callBytes + 18_000), answerBytes])
})

test("requests are not read while many answers wait for the client", async () => {
  const { begun, next, send } = await openStream({
    maxInFlight: 20_000,
    requests: new Budget(2 ** 22),
    answers: new Budget(2 ** 23),
  })
  const calls = Array.from({ length: 1_333 }, (_, id) => ({ id, method: "any" }))
  await send({ calls })
  // Each answer counts at least 384 bytes, and 1 MiB may wait. The client takes only the first few.
  for (const { answer } of begun.splice(0)) answer(0)
  await settle()
  await next()
  for (let round = 0; round < 2; round++) {
    await send({ calls })
    for (const { answer } of begun.splice(0)) answer(0)
    await settle()
  }
  await send(one(1))
  await send(one(2))
  // The first of them was being read already.
  expect(begun).toHaveLength(1)
  while (begun.length < 2) await next()
})

test("a stream with rejected calls is read again only after a pause, and their answers are sent at once", async () => {
  const pauses: { workMs: number; end(): void }[] = []
  const pauseAfter = (workMs: number) => new Promise<void>((end) => pauses.push({ workMs, end }))
  const { begun, next, send } = await openStream({
    rejects: () => begun.length === 0 && pauses.length === 0,
    pauseAfter,
  })
  await send({ calls: [1, 2, 3].map((id) => ({ id, method: "any" })) })
  expect((await next())?.answers).toHaveLength(3)
  await send(one(4))
  expect(begun).toHaveLength(0)
  expect(pauses.map(({ workMs }) => workMs)).toEqual([3 * rejectionMs.carried])
  pauses[0]?.end()
  await settle()
  expect(begun).toHaveLength(1)
})

test("a request is read once", async () => {
  const { begun, send } = await openStream()
  await send(one(1, 5))
  expect(begun[0]?.read()).toHaveLength(5)
  expect(() => begun[0]?.read()).toThrow()
})

test.each(["aborted", "left"])("when the stream is %s, its calls are cancelled and its memory is free", async (how) => {
  const { begun, next, send, end, abort, taken } = await openStream()
  await send(one(1, 100))
  await send(one(2, 100))
  await send(one(3, 100))
  begun[0]?.answer(50)
  await settle()
  const [first] = (await next())?.answers ?? []
  expect([first?.id, taken()]).toEqual([1, [2 * (callBytes + 100), answerBytes + 50]])
  begun[1]?.answer(60)
  await settle()
  expect(taken()).toEqual([callBytes + 100, 2 * answerBytes + 110])
  if (how === "left") await end()
  else {
    abort.abort(new Failure("CANCELLED"))
    await expect(next()).rejects.toMatchObject({ reason: "CANCELLED" })
  }
  await settle()
  expect(begun.map(({ cancel }) => cancel.mock.calls.length)).toEqual([0, 0, 1])
  expect(taken()).toEqual([0, 0])
  // A message that is still read afterwards begins nothing.
  await send(one(4, 100))
  expect([begun.length, taken()]).toEqual([3, [0, 0]])
})

test("a stream without an answer to send ends at once when its client has gone", async () => {
  const { next, halfClose, send, abort } = await openStream()
  await send(one(1))
  await halfClose()
  const waiting = next()
  abort.abort(new Failure("CANCELLED"))
  await expect(waiting).rejects.toMatchObject({ reason: "CANCELLED" })
})

test("a draining service ends the stream a second later, or when its calls are answered", async () => {
  for (const hasCall of [false, true]) {
    const { begun, next, send, draining } = await openStream()
    if (hasCall) await send(one(1))
    const told = next()
    await settle()
    draining.abort()
    expect(await told).toMatchObject({ draining: true, answers: [] })
    const last = next()
    await jest.advanceTimersByTimeAsync(1_000)
    if (hasCall) {
      begun[0]?.answer(1)
      expect((await last)?.answers).toHaveLength(1)
      expect(await next()).toBeUndefined()
    } else expect(await last).toBeUndefined()
    // Calls that arrive after the end are not executed.
    await send(one(2))
    expect(begun).toHaveLength(hasCall ? 1 : 0)
  }
})
