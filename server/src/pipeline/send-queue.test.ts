import { describe, expect, test } from "@jest/globals"
import { Budget } from "../util/budget.js"
import { SendQueue } from "./send-queue.js"

/** Whether a promise is settled when everything else has had its turn. */
async function isSettled(promise: Promise<unknown> | undefined): Promise<boolean> {
  let settled = false
  const settle = () => {
    settled = true
  }
  Promise.resolve(promise).then(settle, settle)
  await new Promise((resolve) => setImmediate(resolve))
  await new Promise((resolve) => setImmediate(resolve))
  return settled
}

describe("a queue", () => {
  test("batches the items of one turn, in order", async () => {
    const box = new SendQueue<string>()
    const taken = box.take()
    box.put("a", 1, true)
    await Promise.resolve()
    box.put("b", 1, true)
    box.put("c", 1, true)
    expect(await taken).toEqual(["a", "b", "c"])
  })

  test("hands on an item at once when no more are likely to follow", async () => {
    const box = new SendQueue<string>()
    const taken = box.take()
    let isLate = false
    setImmediate(() => {
      isLate = true
    })
    box.put("a", 1, false)
    expect(await taken).toEqual(["a"])
    expect(isLate).toBe(false)
  })

  test("hands on batches of about 64 KiB, and a larger item alone", async () => {
    const box = new SendQueue<number>()
    const sizes = [40_000, 20_000, 10_000, 1_000_000, 1, 2]
    for (const size of sizes) box.put(size, size, true)
    expect(await box.take()).toEqual([40_000, 20_000])
    expect(await box.take()).toEqual([10_000])
    expect(await box.take()).toEqual([1_000_000])
    expect(await box.take()).toEqual([1, 2])
    expect(await isSettled(box.take())).toBe(false)
  })

  test("bounds the number of small items in a batch", async () => {
    const box = new SendQueue<number>()
    for (let index = 0; index < 10_000; index++) box.put(index, 0, true)
    const batch = await box.take()
    expect(batch?.length).toBeLessThan(4096)
    expect(batch?.length).toBeGreaterThan(100)
  })

  test("has space until 1 MiB waits, and again when less waits", async () => {
    const box = new SendQueue<string>()
    box.put("a", 1_000_000, true)
    await box.space()
    box.put("b", 100_000, true)
    const space = box.space()
    expect(await isSettled(space)).toBe(false)
    expect(await box.take()).toEqual(["a"])
    await space
  })

  test("takes memory for an item until the batch after its own is taken", async () => {
    const budget = new Budget(100_000)
    const isFree = () => {
      const takes = budget.take(100_000)
      if (takes) budget.give(100_000)
      return takes
    }
    const box = new SendQueue<string>(budget)
    expect(box.put("a", 60_000, true)).toBe(true)
    expect(box.put("b", 60_000, true)).toBe(false)
    expect(await box.take()).toEqual(["a"])
    expect(box.put("c", 60_000, true)).toBe(false)
    const second = box.take()
    expect([isFree(), box.put("d", 60_000, false)]).toEqual([true, true])
    expect(await second).toEqual(["d"])
    expect(box.put("e", 10_000, true)).toBe(true)
    // What is being sent still counts.
    box.fail(new Error("gone"))
    expect([isFree(), budget.take(50_000)]).toEqual([false, false])
    expect(box.put("f", 0, true)).toBe(true)
    box.over()
    expect(isFree()).toBe(true)
  })

  test("hands on the waiting items after it is closed, and then ends", async () => {
    const box = new SendQueue<string>()
    box.put("a", 1, true)
    box.close()
    expect(await box.take()).toEqual(["a"])
    expect(await box.take()).toBeUndefined()
    expect(await box.take()).toBeUndefined()
  })

  test("wakes the reader when it is closed", async () => {
    const box = new SendQueue<string>()
    const taken = box.take()
    box.close()
    expect(await taken).toBeUndefined()
  })

  test("fails at once, whatever waits, and wakes both sides", async () => {
    const box = new SendQueue<string>()
    const reader = box.take()
    box.fail(new Error("gone"))
    await expect(reader).rejects.toThrow("gone")
    box.put("a", 2_000_000, true)
    await expect(box.take()).rejects.toThrow("gone")
    await box.space()

    const full = new SendQueue<string>()
    full.put("a", 2_000_000, true)
    const writer = full.space()
    full.fail(new Error("gone"))
    await writer
  })
})
