import { expect, test } from "@jest/globals"
import { queue } from "./queue.js"
import { rowMutexes } from "./row-mutexes.js"

/** Row mutexes that record the order in which they were locked. */
function recorded(queueLimit = 10, rowLimit = queueLimit) {
  const waiting = queue(queueLimit)
  const mutexes = rowMutexes(waiting, rowLimit)
  const order: string[] = []
  return {
    order,
    lock: async (name: string, rows: string[], signal?: AbortSignal) => {
      const unlock = await mutexes.lock(rows, { signal })
      order.push(name)
      return unlock
    },
  }
}

/** Waits until everything that can continue has done so. */
const settle = () => new Promise((resolve) => setImmediate(resolve))

test("writers of one row lock it in their order of arrival, writers of another row do not wait for them", async () => {
  const { lock, order } = recorded()
  const unlock = await lock("first", ["a"])
  const second = lock("second", ["a"])
  const third = lock("third", ["a"])
  await lock("other", ["b"])
  await settle()
  expect(order).toEqual(["first", "other"])
  unlock()
  const unlockSecond = await second
  await settle()
  expect(order).toEqual(["first", "other", "second"])
  unlockSecond()
  await third
  expect(order).toEqual(["first", "other", "second", "third"])
})

test("a writer of two rows waits for both, and writers that name them in different orders never block each other", async () => {
  const { lock, order } = recorded()
  const unlocks = [await lock("a", ["a"]), await lock("b", ["b"])]
  const calls = [lock("ab", ["a", "b"]), lock("ba", ["b", "a"]), lock("aa", ["a", "a"])]
  for (const unlock of unlocks) unlock()
  for (const call of calls) (await call)()
  expect(order).toEqual(["a", "b", "ab", "ba", "aa"])
})

test("the waiters of one row cannot fill the whole queue", async () => {
  const { lock } = recorded(10, 2)
  const unlocks = [await lock("a", ["a"]), await lock("b", ["b"])]
  const waiting = [lock("second", ["a"]), lock("third", ["a"])]
  await expect(lock("fourth", ["a"])).rejects.toMatchObject({ reason: "QUEUE_FULL" })
  const other = lock("other", ["b"])
  for (const unlock of unlocks) unlock()
  for (const one of [...waiting, other]) (await one)()
})

test("a waiter that gives up leaves the queue and releases the rows that it had locked", async () => {
  const { lock } = recorded(1)
  const unlock = await lock("holder", ["b"])
  const leaving = new AbortController()
  const reason = new Error("gone")
  const abandoned = lock("leaving", ["a", "b"], leaving.signal)
  await settle()
  leaving.abort(reason)
  await expect(abandoned).rejects.toBe(reason)
  ;(await lock("next", ["a"]))()
  const waiting = lock("waiting", ["b"])
  unlock()
  ;(await waiting)()
  await lock("last", ["b"])
})
