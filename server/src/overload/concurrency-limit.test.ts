import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals"
import { type ConcurrencyLimit, concurrencyLimit } from "./concurrency-limit.js"

const never = new AbortController().signal

beforeEach(() => {
  jest.useFakeTimers({ now: 0 })
})
afterEach(async () => {
  await jest.advanceTimersByTimeAsync(20)
  expect(jest.getTimerCount()).toBe(0)
  jest.useRealTimers()
})

const limitOf = (maxCalls: number) => concurrencyLimit({ maxCalls, now: Date.now })
/** Lets promises that are settled be seen. */
const settle = () => jest.advanceTimersByTimeAsync(0)

/** Enters a limit with a key, and notes in `order` what became of it. */
function caller(limit: ConcurrencyLimit, order: string[]) {
  return (key: string, signal = never) => {
    const note = (what: string) => () => void order.push(`${key} ${what}`)
    try {
      const waiting = limit.enter(key, signal)
      if (waiting === undefined) note("in")()
      else waiting.then(note("in"), ({ reason, message }) => note(reason ?? message)())
    } catch (error) {
      note((error as { reason: string }).reason)()
    }
  }
}

function setUp(maxCalls: number) {
  const limit = limitOf(maxCalls)
  const order: string[] = []
  return { limit, order, enter: caller(limit, order) }
}

describe("a concurrency limit", () => {
  test("admits calls up to the limit; further calls wait in order", async () => {
    const { limit, order, enter } = setUp(2)
    for (let call = 0; call < 4; call++) enter("a")
    expect(order).toEqual(["a in", "a in"])
    limit.leave("a")
    await settle()
    expect(order).toHaveLength(3)
    for (let call = 0; call < 3; call++) limit.leave("a")
    await settle()
    expect(order).toHaveLength(4)
  })

  test("S-22: serves the keys round-robin, however many calls of one key wait", async () => {
    const { limit, order, enter } = setUp(10)
    for (let call = 0; call < 10; call++) enter(call % 2 ? "a" : "b")
    order.length = 0
    for (const key of "aaaaabbc") enter(key)
    for (let call = 0; call < 6; call++) {
      limit.leave(call % 2 ? "a" : "b")
      await settle()
    }
    expect(order).toEqual(["a in", "b in", "c in", "a in", "b in", "a in"])
    for (let call = 0; call < 4; call++) limit.leave(call % 2 ? "a" : "b")
    for (const key of "bbaaa") limit.leave(key)
    limit.leave("c")
    await settle()
    limit.leave("a")
    limit.leave("a")
  })

  test("admits no more calls in one turn of the event loop than the limit, even if they end at once", async () => {
    const limit = limitOf(2)
    let served = 0
    const call = async () => {
      await limit.enter("a", never)
      served++
      limit.leave("a")
    }
    limit.enter("a", never)
    limit.enter("a", never)
    for (let count = 0; count < 10; count++) call()
    limit.leave("a")
    limit.leave("a")
    const counts: number[] = []
    const turn = () => {
      counts.push(served)
      if (counts.length < 6) setImmediate(turn)
    }
    turn()
    await jest.advanceTimersByTimeAsync(20)
    expect(counts).toEqual([0, 2, 4, 6, 8, 10])
  })

  test("a new call does not overtake waiting calls that are about to be admitted", async () => {
    const { limit, order, enter } = setUp(1)
    for (const key of "ab") enter(key)
    limit.leave("a")
    enter("c")
    await settle()
    limit.leave("b")
    await settle()
    expect(order).toEqual(["a in", "b in", "c in"])
    limit.leave("c")
  })

  test("S-22: one key can use nine tenths of the limit, even if no other key calls", async () => {
    const { limit, order, enter } = setUp(100)
    for (let call = 0; call < 100; call++) enter("a")
    expect(order).toHaveLength(90)
    for (let call = 0; call < 10; call++) enter("b")
    expect(order).toHaveLength(100)
    for (let call = 0; call < 100; call++) limit.leave(call < 90 ? "a" : "b")
    await settle()
    expect(order).toHaveLength(110)
    for (let call = 0; call < 10; call++) limit.leave("a")
  })

  test("rejects calls of a key with too many waiting calls at once, and of no other key", async () => {
    const { limit, order, enter } = setUp(10)
    for (let call = 0; call < 88; call++) enter("a")
    expect(limit.rejects("a")).toBe(false)
    enter("a")
    expect(limit.rejects("a")).toBe(true)
    expect(limit.rejects("b")).toBe(false)
    enter("a")
    expect(order.filter((what) => what === "a OVERLOADED")).toHaveLength(1)
    enter("b")
    expect(order.at(-1)).toBe("b in")
    limit.leave("b")
    for (let call = 0; call < 89; call++) limit.leave("a")
  })

  test("limits the waiting calls further when the queue never empties", async () => {
    const { limit, order, enter } = setUp(10)
    for (let call = 0; call < 19; call++) enter("a")
    await jest.advanceTimersByTimeAsync(300)
    for (let call = 0; call < 5; call++) limit.leave("a")
    for (let call = 0; call < 14; call++) enter("a")
    expect(limit.rejects("a")).toBe(false)
    await jest.advanceTimersByTimeAsync(201)
    expect(limit.rejects("a")).toBe(true)
    for (let call = 0; call < 28; call++) limit.leave("a")
    await jest.advanceTimersByTimeAsync(600)
    expect(order.filter((what) => what === "a OVERLOADED")).toEqual([])
  })

  test("S-45: rejects a call that has waited half a second, or a twentieth when the queue never empties", async () => {
    const { limit, order, enter } = setUp(1)
    enter("a")
    enter("a")
    await jest.advanceTimersByTimeAsync(490)
    expect(order).toEqual(["a in"])
    enter("a")
    enter("a")
    await jest.advanceTimersByTimeAsync(30)
    // The first call waited too long; the others came later.
    expect(order).toEqual(["a in", "a OVERLOADED"])
    await jest.advanceTimersByTimeAsync(60)
    expect(order).toEqual(["a in", "a OVERLOADED", "a OVERLOADED", "a OVERLOADED"])
    // Another burst may wait as long as the first.
    enter("a")
    await jest.advanceTimersByTimeAsync(400)
    expect(order).toHaveLength(4)
    limit.leave("a")
    await settle()
    expect(order.at(-1)).toBe("a in")
    limit.leave("a")
  })

  test("forgets a call that gives up, and rejects it with its reason", async () => {
    const { limit, order, enter } = setUp(1)
    const giveUp = new AbortController()
    enter("a")
    enter("a", giveUp.signal)
    enter("a")
    giveUp.abort(new Error("gone"))
    await settle()
    expect(order).toEqual(["a in", "a gone"])
    limit.leave("a")
    await settle()
    expect(order).toEqual(["a in", "a gone", "a in"])
    limit.leave("a")
    expect(() => limit.enter("a", giveUp.signal)).toThrow("gone")
  })

  test("an admitted call that gives up does not remove a waiting call", async () => {
    const { limit, order, enter } = setUp(1)
    const giveUp = new AbortController()
    enter("a")
    enter("a", giveUp.signal)
    enter("a")
    limit.leave("a")
    await settle()
    giveUp.abort()
    expect(limit.load()).toMatchObject({ active: 1, waiting: 1 })
    limit.leave("a")
    await settle()
    expect(order).toEqual(["a in", "a in", "a in"])
    limit.leave("a")
  })

  test("keeps no state of calls that are over, however they ended", async () => {
    const limit = limitOf(1)
    const enter = caller(limit, [])
    const giveUp = new AbortController()
    enter("ends")
    enter("gives up", giveUp.signal)
    enter("waits too long")
    expect(limit.load()).toEqual({ maxCalls: 1, active: 1, waiting: 2, keys: 3 })
    giveUp.abort(new Error("gone"))
    await jest.advanceTimersByTimeAsync(600)
    expect(limit.load()).toEqual({ maxCalls: 1, active: 1, waiting: 0, keys: 1 })
    const lock = Promise.withResolvers<void>()
    const yielding = limit.yieldWhile("ends", lock.promise)
    limit.leave("ends")
    lock.resolve()
    await yielding
    expect(limit.load()).toEqual({ maxCalls: 1, active: 0, waiting: 0, keys: 0 })
  })

  test("rejects a call that waits too long, also after a time without waiting calls", async () => {
    const { limit, order, enter } = setUp(1)
    enter("a")
    for (let wave = 1; wave <= 2; wave++) {
      enter("a")
      await jest.advanceTimersByTimeAsync(600)
      expect(order.filter((what) => what === "a OVERLOADED")).toHaveLength(wave)
    }
    limit.leave("a")
  })

  test("admits other calls while a call waits for something that costs the service no work", async () => {
    const { limit, order, enter } = setUp(1)
    const lock = Promise.withResolvers<string>()
    enter("a")
    const yielding = limit.yieldWhile("a", lock.promise)
    enter("b")
    expect(order).toEqual(["a in", "b in"])
    lock.resolve("locked")
    expect(await yielding).toBe("locked")
    limit.leave("b")
    enter("b")
    expect(order).toHaveLength(2)
    limit.leave("a")
    await settle()
    expect(order).toEqual(["a in", "b in", "b in"])
    limit.leave("b")
  })
})
