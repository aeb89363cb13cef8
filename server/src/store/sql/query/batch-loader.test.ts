import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals"
import { trace } from "@opentelemetry/api"
import { coalesce, type LookupWaiter } from "./batch-loader.js"

describe("coalesce", () => {
  const doubled = () =>
    jest.fn(async (keys: readonly number[], _waiter: LookupWaiter) =>
      keys.map((key) => (key < 0 ? undefined : key * 2)),
    )

  test.each([
    [8, [[3, -1, 5]]],
    [2, [[3, -1], [5]]],
  ])("lookups of one turn are loaded together, at most %i, and each gets its own row", async (limit, batches) => {
    const load = doubled()
    const find = coalesce({ limit, ahead: 2 }, load)
    expect(await Promise.all([3, -1, 5].map((key) => find(key, {})))).toEqual([6, undefined, 10])
    expect(load.mock.calls.map(([keys]) => keys)).toEqual(batches)
  })

  test("a batch is recorded in the spans of all lookups that it answers", async () => {
    const load = doubled()
    const find = coalesce({ limit: 8, ahead: 2 }, load)
    const spans = ["1", "3"].map((spanId) => trace.wrapSpanContext({ traceId: "t", spanId, traceFlags: 1 }))
    await Promise.all([find(1, { spans: spans.slice(0, 1) }), find(2, {}), find(3, { spans: spans.slice(1) })])
    await Promise.all([find(4, {}), find(5, {})])
    expect(load.mock.calls.map(([, waiter]) => waiter.spans)).toEqual([spans, undefined])
  })

  test("a single lookup is loaded with its own signal", async () => {
    const load = doubled()
    const { signal } = new AbortController()
    await coalesce({ limit: 8, ahead: 2 }, load)(1, { signal })
    expect(load.mock.calls).toEqual([[[1], { signal }]])
  })

  describe("while as many loads are active as may be", () => {
    beforeEach(() => {
      jest.useFakeTimers({ doNotFake: ["nextTick", "queueMicrotask"] })
    })
    afterEach(() => {
      jest.useRealTimers()
    })

    const turn = () => new Promise<void>((resolve) => process.nextTick(resolve))

    /** Two lookups, each in a batch of its own that is still loading. The test ends a load. */
    const busy = async () => {
      const loads: (readonly number[])[] = []
      const ends: (() => void)[] = []
      const find = coalesce<number, number>({ limit: 3, ahead: 2 }, (keys) => {
        loads.push(keys)
        return new Promise((resolve) => ends.push(() => resolve(keys.map((key) => key * 2))))
      })
      const found = [find(1, {})]
      await turn()
      found.push(find(2, {}))
      await turn()
      return { loads, ends, find: (key: number) => found.push(find(key, {})), found }
    }

    test("further lookups wait for a load to end, and are loaded together", async () => {
      const { loads, ends, find, found } = await busy()
      find(3)
      await turn()
      find(4)
      await turn()
      expect(loads).toEqual([[1], [2]])
      ends[1]?.()
      expect(await found[1]).toBe(4)
      await turn()
      expect(loads).toEqual([[1], [2], [3, 4]])
      for (const end of ends) end()
      expect(await Promise.all(found)).toEqual([2, 4, 6, 8])
    })

    test("a full batch does not wait", async () => {
      const { loads, find } = await busy()
      for (const key of [3, 4, 5, 6]) find(key)
      await turn()
      expect(loads).toEqual([[1], [2], [3, 4, 5]])
    })

    test("no lookup waits long for a load that hangs", async () => {
      const { loads, find } = await busy()
      for (const [key, then] of [
        [3, [[1], [2], [3]]],
        [4, [[1], [2], [3], [4]]],
      ] as const) {
        find(key)
        await turn()
        jest.advanceTimersByTime(1)
        expect(loads).toEqual(then)
      }
    })

    test("lookups that come after the last load began wait just as long", async () => {
      const { loads, ends, find } = await busy()
      find(3)
      await turn()
      ends[0]?.()
      await turn()
      find(4)
      await turn()
      // The time of the third is over, who did not need it.
      jest.advanceTimersByTime(1)
      expect(loads).toEqual([[1], [2], [3]])
      jest.advanceTimersByTime(1)
      expect(loads).toEqual([[1], [2], [3], [4]])
    })
  })

  test("a failure rejects all lookups of the batch", async () => {
    const failure = new Error("no")
    const find = coalesce<number, number>({ limit: 8, ahead: 2 }, () => Promise.reject(failure))
    const both = await Promise.allSettled([find(1, {}), find(2, {})])
    expect(both).toEqual([
      { status: "rejected", reason: failure },
      { status: "rejected", reason: failure },
    ])
  })

  test("a lookup that gives up is rejected at once, and the load is aborted with the last one", async () => {
    const callers = [new AbortController(), new AbortController()]
    let loading: AbortSignal | undefined
    const find = coalesce<number, number>(
      { limit: 8, ahead: 2 },
      (_keys, { signal }) =>
        new Promise((_resolve, reject) => {
          loading = signal
          signal?.addEventListener("abort", () => reject(signal.reason))
        }),
    )
    const [first, second] = callers.map(({ signal }, key) => find(key, { signal }))
    await Promise.resolve()
    callers[0]?.abort(new Error("the first is gone"))
    await expect(first).rejects.toThrow("the first is gone")
    expect(loading?.aborted).toBe(false)
    callers[1]?.abort(new Error("the second is gone"))
    await expect(second).rejects.toThrow("the second is gone")
    expect(loading?.aborted).toBe(true)
  })

  test("a batch with a lookup that has no signal is loaded without one", async () => {
    const load = doubled()
    const find = coalesce({ limit: 8, ahead: 2 }, load)
    await Promise.all([find(1, {}), find(2, new AbortController())])
    expect(load.mock.calls.map(([keys, { signal }]) => [keys, signal])).toEqual([[[1, 2], undefined]])
  })
})
