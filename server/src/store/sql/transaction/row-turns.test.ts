import { expect, test } from "@jest/globals"
import { queue } from "./queue.js"
import { turns } from "./row-turns.js"

/** Turns that tell in which order they are had. */
function recorded(queueLimit = 10, rowLimit = queueLimit) {
  const waiting = queue(queueLimit)
  const { take } = turns(waiting, rowLimit)
  const order: string[] = []
  return {
    order,
    close: waiting.close,
    take: async (name: string, rows: string[], signal?: AbortSignal) => {
      const end = await take(rows, { signal })
      order.push(name)
      return end
    },
  }
}

/** Until everything that can go on has done so. */
const rest = () => new Promise((resolve) => setImmediate(resolve))

test("the writers of one row take turns in their order; those of another do not wait for them", async () => {
  const { take, order } = recorded()
  const end = await take("first", ["a"])
  const second = take("second", ["a"])
  const third = take("third", ["a"])
  await take("other", ["b"])
  await rest()
  expect(order).toEqual(["first", "other"])
  end()
  const endSecond = await second
  await rest()
  expect(order).toEqual(["first", "other", "second"])
  endSecond()
  await third
  expect(order).toEqual(["first", "other", "second", "third"])
})

test("who writes two rows waits for both, and those who name them the other way round never block each other", async () => {
  const { take, order } = recorded()
  const ends = [await take("a", ["a"]), await take("b", ["b"])]
  const calls = [take("ab", ["a", "b"]), take("ba", ["b", "a"]), take("aa", ["a", "a"])]
  for (const end of ends) end()
  for (const call of calls) (await call)()
  expect(order).toEqual(["a", "b", "ab", "ba", "aa"])
})

test("who waits for one row does not take all places of those who wait", async () => {
  const { take } = recorded(10, 2)
  const ends = [await take("a", ["a"]), await take("b", ["b"])]
  const waiting = [take("second", ["a"]), take("third", ["a"])]
  await expect(take("fourth", ["a"])).rejects.toMatchObject({ reason: "QUEUE_FULL" })
  const other = take("other", ["b"])
  for (const end of ends) end()
  for (const one of [...waiting, other]) (await one)()
})

test("who gives up leaves nothing behind: neither a place in the line nor the turn that he had", async () => {
  const { take } = recorded(1)
  const end = await take("holder", ["b"])
  const leaving = new AbortController()
  const reason = new Error("gone")
  const given = take("leaving", ["a", "b"], leaving.signal)
  await rest()
  leaving.abort(reason)
  await expect(given).rejects.toBe(reason)
  ;(await take("next", ["a"]))()
  const waiting = take("waiting", ["b"])
  end()
  ;(await waiting)()
  await take("last", ["b"])
})

test("QUEUE_FULL: too many wait, for whatever row", async () => {
  const { take } = recorded(1)
  const ends = [await take("a", ["a"]), await take("b", ["b"])]
  const waiting = take("a", ["a"])
  await expect(take("b", ["b"])).rejects.toMatchObject({ reason: "QUEUE_FULL" })
  for (const end of ends) end()
  await waiting
  await take("b", ["b"])
})

test("closed, those who wait and all who come are turned away", async () => {
  const { take, close } = recorded()
  await take("a", ["a"])
  const waiting = take("a", ["a"])
  close()
  for (const call of [waiting, take("b", ["b"])]) {
    await expect(call).rejects.toMatchObject({ reason: "DATABASE_UNAVAILABLE" })
  }
})
