import { describe, expect, test } from "@jest/globals"
import { gate } from "./gate.js"

/** Whether a promise is settled by now. */
async function settled(promise: Promise<unknown>): Promise<boolean> {
  const pending = Symbol()
  const first = await Promise.race([promise.catch(() => {}), new Promise((resolve) => setImmediate(resolve, pending))])
  return first !== pending
}

describe("gate", () => {
  test("lets as many in as there are places, and the others in their order", async () => {
    const { enter, leave } = gate(2, 10)
    const entered: number[] = []
    const calls = [1, 2, 3, 4].map((n) => enter(undefined).then(() => entered.push(n)))
    await Promise.all(calls.slice(0, 2))
    expect(await settled(calls[2] as Promise<number>)).toBe(false)
    leave()
    await calls[2]
    expect(await settled(calls[3] as Promise<number>)).toBe(false)
    leave()
    await calls[3]
    expect(entered).toEqual([1, 2, 3, 4])
  })

  test("nobody overtakes those who wait", async () => {
    const { enter, leave } = gate(1, 10)
    await enter(undefined)
    const waiting = enter(undefined)
    leave()
    const newcomer = enter(undefined)
    await waiting
    expect(await settled(newcomer)).toBe(false)
    leave()
    await newcomer
  })

  test("QUEUE_FULL: too many wait", async () => {
    const { enter, leave } = gate(1, 1)
    await enter(undefined)
    const waiting = enter(undefined)
    await expect(enter(undefined)).rejects.toMatchObject({ reason: "QUEUE_FULL" })
    leave()
    await waiting
    const next = enter(undefined)
    leave()
    await next
  })

  test("who gives up is gone from the queue, and his signal holds nothing of it", async () => {
    const { enter, leave } = gate(1, 1)
    await enter(undefined)
    const reason = new Error("gone")
    const leaving = new AbortController()
    const waiting = enter(leaving.signal)
    leaving.abort(reason)
    await expect(waiting).rejects.toBe(reason)
    const next = enter(AbortSignal.timeout(60_000))
    leave()
    await next
    leave()
    await enter(undefined)
  })

  test("a signal that comes after the place does not give it back", async () => {
    const { enter, leave } = gate(1, 1)
    await enter(undefined)
    const late = new AbortController()
    const waiting = enter(late.signal)
    leave()
    late.abort()
    await waiting
    const next = enter(undefined)
    expect(await settled(next)).toBe(false)
    leave()
    await next
  })

  test("throws the reason of a signal that came before, and takes no place", async () => {
    const { enter } = gate(1, 0)
    const reason = new Error("gone")
    await expect(enter(AbortSignal.abort(reason))).rejects.toBe(reason)
    await enter(undefined)
  })

  test("closed, it turns away those who wait and all who come", async () => {
    const { enter, close } = gate(1, 5)
    await enter(undefined)
    const waiting = [enter(undefined), enter(undefined)]
    close()
    for (const call of [...waiting, enter(undefined)]) {
      await expect(call).rejects.toMatchObject({ reason: "DATABASE_UNAVAILABLE" })
    }
  })
})
