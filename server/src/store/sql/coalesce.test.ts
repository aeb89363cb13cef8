import { describe, expect, jest, test } from "@jest/globals"
import { coalesce } from "./coalesce.js"

describe("coalesce", () => {
  const doubled = () =>
    jest.fn(async (keys: readonly number[], _signal: AbortSignal | undefined) =>
      keys.map((key) => (key < 0 ? undefined : key * 2)),
    )

  test("look-ups of one turn are loaded together, and each gets its own row", async () => {
    const load = doubled()
    const find = coalesce(8, load)
    expect(await Promise.all([3, -1, 5].map((key) => find(key, undefined)))).toEqual([6, undefined, 10])
    expect(load.mock.calls.map(([keys]) => keys)).toEqual([[3, -1, 5]])
  })

  test("no more are loaded together than the limit says", async () => {
    const load = doubled()
    const find = coalesce(2, load)
    expect(await Promise.all([1, 2, 3, 4, 5].map((key) => find(key, undefined)))).toEqual([2, 4, 6, 8, 10])
    expect(load.mock.calls.map(([keys]) => keys)).toEqual([[1, 2], [3, 4], [5]])
  })

  test("one that comes alone has its own signal", async () => {
    const load = doubled()
    const { signal } = new AbortController()
    await coalesce(8, load)(1, signal)
    expect(load.mock.calls).toEqual([[[1], signal]])
  })

  test("one turn later is another load", async () => {
    const load = doubled()
    const find = coalesce(8, load)
    await find(1, undefined)
    await find(2, undefined)
    expect(load).toHaveBeenCalledTimes(2)
  })

  test("a failure is that of all who were loaded together", async () => {
    const failure = new Error("no")
    const find = coalesce<number, number>(8, () => Promise.reject(failure))
    const both = await Promise.allSettled([find(1, undefined), find(2, undefined)])
    expect(both).toEqual([
      { status: "rejected", reason: failure },
      { status: "rejected", reason: failure },
    ])
  })

  test("who gives up is let go at once, and the load ends with the last", async () => {
    const callers = [new AbortController(), new AbortController()]
    let loading: AbortSignal | undefined
    const find = coalesce<number, number>(
      8,
      (_keys, signal) =>
        new Promise((_resolve, reject) => {
          loading = signal
          signal?.addEventListener("abort", () => reject(signal.reason))
        }),
    )
    const [first, second] = callers.map(({ signal }, key) => find(key, signal))
    await Promise.resolve()
    callers[0]?.abort(new Error("the first is gone"))
    await expect(first).rejects.toThrow("the first is gone")
    expect(loading?.aborted).toBe(false)
    callers[1]?.abort(new Error("the second is gone"))
    await expect(second).rejects.toThrow("the second is gone")
    expect(loading?.aborted).toBe(true)
  })

  test("one that gives up does not take the row of another", async () => {
    const rows = Promise.withResolvers<number[]>()
    const find = coalesce<number, number>(8, () => rows.promise)
    const gone = new AbortController()
    const [first, second] = [find(1, gone.signal), find(2, new AbortController().signal)]
    await Promise.resolve()
    gone.abort(new Error("gone"))
    rows.resolve([10, 20])
    await expect(first).rejects.toThrow("gone")
    expect(await second).toBe(20)
  })
})
