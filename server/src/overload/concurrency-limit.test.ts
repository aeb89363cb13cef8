import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals"
import { concurrencyLimit } from "./concurrency-limit.js"

const never = new AbortController().signal

beforeEach(() => {
  jest.useFakeTimers({ now: 0 })
})
afterEach(async () => {
  await jest.advanceTimersByTimeAsync(20)
  expect(jest.getTimerCount()).toBe(0)
  jest.useRealTimers()
})

/** A key by its name, and its tenant by the first letter. */
const ownerOf = (name: string) => ({ tenant: name[0] as string, keyId: name })

function limitOf(maxCalls: number, turn = async () => {}) {
  const limit = concurrencyLimit({ maxCalls, now: Date.now, turn })
  return {
    rejects: (name: string) => limit.rejects(ownerOf(name)),
    enter: (name: string, signal: AbortSignal, cost = 1) => limit.enter(ownerOf(name), signal, cost),
    leave: (name: string, cost = 1) => limit.leave(ownerOf(name), cost),
    load: limit.load,
  }
}
/** Lets promises that are settled be seen. */
const settle = () => jest.advanceTimersByTimeAsync(0)

/** Enters a limit with a key, and notes in `order` what became of it. */
function caller(limit: ReturnType<typeof limitOf>, order: string[]) {
  return (key: string, signal = never, cost = 1) => {
    const note = (what: string) => () => void order.push(`${key} ${what}`)
    try {
      const waiting = limit.enter(key, signal, cost)
      if (waiting === undefined) note("in")()
      else waiting.then(note("in"), ({ reason, message }) => note(reason ?? message)())
    } catch (error) {
      note((error as { reason: string }).reason)()
    }
  }
}

function setUp(maxCalls: number, turn?: () => Promise<void>) {
  const limit = limitOf(maxCalls, turn)
  const order: string[] = []
  return { limit, order, enter: caller(limit, order) }
}

describe("a concurrency limit", () => {
  test("admits calls up to the limit; further calls wait in order", async () => {
    const { limit, order, enter } = setUp(2)
    for (const key of "abab") enter(key)
    expect(order).toEqual(["a in", "b in"])
    limit.leave("a")
    await settle()
    expect(order).toEqual(["a in", "b in", "a in"])
    for (const key of "ba") limit.leave(key)
    await settle()
    expect(order).toEqual(["a in", "b in", "a in", "b in"])
    limit.leave("b")
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
    const call = async (key: string) => {
      await limit.enter(key, never)
      served++
      limit.leave(key)
    }
    for (const key of "ab") limit.enter(key, never)
    for (const key of "ababababab") call(key)
    for (const key of "ab") limit.leave(key)
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

  test("S-22: one key can use eight tenths of the limit and one tenant nine, even if no other one calls", async () => {
    const { limit, order, enter } = setUp(100)
    const left = new Map<string, number>()
    const activeOf = () =>
      Object.entries(Object.groupBy(order, (what) => what)).map(([what, all]) => [what, all?.length])
    for (const key of ["a", "a2", "b"]) for (let call = 0; call < 100; call++) enter(key)
    expect(activeOf()).toEqual(Object.entries({ "a in": 80, "a2 in": 10, "b in": 10 }))
    // The tenants take turns: one of them with one key, the other one with two.
    for (let call = 0; call < 40; call++) limit.leave("a")
    await settle()
    expect(activeOf()).toEqual(Object.entries({ "a in": 90, "a2 in": 20, "b in": 30 }))
    for (let ended = -1; ended !== order.length; ) {
      ended = order.length
      for (const [what, count] of activeOf()) {
        const key = String(what).split(" ")[0] as string
        for (let call = left.get(key) ?? (key === "a" ? 40 : 0); call < Number(count); call++) limit.leave(key)
        left.set(key, Number(count))
      }
      await settle()
    }
    expect(limit.load()).toEqual({ maxCalls: 100, active: 0, waiting: 0, keys: 0 })
  })

  test("S-22: calls take places and turns by their cost, so that a key of costly calls has fewer of them", async () => {
    const { limit, order, enter } = setUp(10)
    const costs: Record<string, number> = { a: 4, b: 1 }
    for (let call = 0; call < 60; call++) for (const key of "ab") enter(key, never, costs[key])
    for (let ended = 0; ended < order.length; ended++) {
      // Half of those that found a place at once, and one of five after.
      if (ended === 50) expect(order.slice(0, 50).filter((what) => what === "a in")).toHaveLength(5 + 8)
      const key = order[ended]?.[0] as string
      limit.leave(key, costs[key])
      await settle()
    }
    expect(order).toHaveLength(120)
    expect(limit.load()).toEqual({ maxCalls: 10, active: 0, waiting: 0, keys: 0 })
  })

  test("a costly call is admitted although there are always calls of other keys for the place that is left", async () => {
    const { limit, order, enter } = setUp(100)
    for (let call = 0; call < 80; call++) enter("b")
    for (let call = 0; call < 20; call++) enter("c")
    enter("a", never, 8)
    for (let ended = 0; !order.includes("a in") && ended < 20; ended++) {
      limit.leave("b")
      enter("b")
      await settle()
    }
    expect(order).toContain("a in")
    limit.leave("a", 8)
    await settle()
  })

  test("S-22: a costly call takes no more places than the calls of one tenant leave, however long these last", () => {
    const { limit, order, enter } = setUp(100)
    for (let call = 0; call < 90; call++) enter(call < 80 ? "a" : "a2")
    expect(limit.load()).toMatchObject({ active: 90 })
    enter("b", never, 1000)
    expect(order.at(-1)).toBe("b in")
    expect(limit.load()).toMatchObject({ active: 100 })
    limit.leave("b", 1000)
    expect(limit.load()).toMatchObject({ active: 90 })
  })

  test("rejects calls of a key with too many waiting calls at once, and of no other key", async () => {
    const { limit, order, enter } = setUp(10)
    for (let call = 0; call < 87; call++) enter("a")
    expect(limit.rejects("a")).toBe(false)
    enter("a")
    expect(limit.rejects("a")).toBe(true)
    expect(limit.rejects("b")).toBe(false)
    enter("a")
    expect(order.filter((what) => what === "a OVERLOADED")).toHaveLength(1)
    enter("b")
    expect(order.at(-1)).toBe("b in")
    limit.leave("b")
    for (let call = 0; call < 88; call++) limit.leave("a")
  })

  test("limits the waiting calls further when the queue never empties", async () => {
    const { limit, order, enter } = setUp(10)
    for (let call = 0; call < 18; call++) enter("a")
    await jest.advanceTimersByTimeAsync(300)
    for (let call = 0; call < 5; call++) limit.leave("a")
    for (let call = 0; call < 14; call++) enter("a")
    expect(limit.rejects("a")).toBe(false)
    await jest.advanceTimersByTimeAsync(201)
    expect(limit.rejects("a")).toBe(true)
    for (let call = 0; call < 27; call++) limit.leave("a")
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
    limit.leave("ends")
    expect(limit.load()).toEqual({ maxCalls: 1, active: 0, waiting: 0, keys: 0 })
  })

  test("S-22: rejects calls that have waited too long in turns of the event loop, few in each", async () => {
    const turns: (() => void)[] = []
    const { order, enter } = setUp(4, () => new Promise((resolve) => turns.push(resolve)))
    for (let call = 0; call < 4 + 32; call++) enter("a")
    order.length = 0
    await jest.advanceTimersByTimeAsync(520)
    for (const rejected of [0, 16, 32]) {
      expect(order).toEqual(Array.from({ length: rejected }, () => "a OVERLOADED"))
      for (const turn of turns.splice(0)) turn()
      await settle()
    }
  })

  test("S-22: has one line of rejections, however many calls wait too long meanwhile", async () => {
    const turns: (() => void)[] = []
    const { enter } = setUp(4, () => new Promise((resolve) => turns.push(resolve)))
    for (let wave = 0; wave < 3; wave++) {
      for (let call = 0; call < 20; call++) enter("a")
      await jest.advanceTimersByTimeAsync(520)
    }
    expect(turns).toHaveLength(1)
    for (let piece = 0; piece < 10; piece++) {
      for (const turn of turns.splice(0)) turn()
      await jest.advanceTimersByTimeAsync(20)
    }
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
})
