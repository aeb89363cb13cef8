import { describe, expect, test } from "@jest/globals"
import { type Queue, queue } from "./queue.js"
import { type Gate, gate, type Kind } from "./semaphore.js"

/** Whether a promise is settled by now. */
async function settled(promise: Promise<unknown>): Promise<boolean> {
  const pending = Symbol()
  const first = await Promise.race([promise.catch(() => {}), new Promise((resolve) => setImmediate(resolve, pending))])
  return first !== pending
}

/** A gate of so many places, all of them for everybody, and its queue. */
function gateOf(places: number, queueLimit: number): Queue & Gate {
  const waiting = queue(queueLimit)
  return { ...waiting, ...gate(waiting, { places, writers: places }) }
}

describe.each<Kind>(["read", "write"])("a gate for those who %s", (kind) => {
  test("lets as many in as there are places, and the others in their order", async () => {
    const { enter, leave } = gateOf(2, 10)
    const entered: number[] = []
    const calls = [1, 2, 3, 4].map((n) => enter(kind, undefined).then(() => entered.push(n)))
    await Promise.all(calls.slice(0, 2))
    expect(await settled(calls[2] as Promise<number>)).toBe(false)
    leave(kind)
    await calls[2]
    expect(await settled(calls[3] as Promise<number>)).toBe(false)
    leave(kind)
    await calls[3]
    expect(entered).toEqual([1, 2, 3, 4])
  })

  test("nobody overtakes those who wait", async () => {
    const { enter, leave } = gateOf(1, 10)
    await enter(kind, undefined)
    const waiting = enter(kind, undefined)
    leave(kind)
    const newcomer = enter(kind, undefined)
    await waiting
    expect(await settled(newcomer)).toBe(false)
    leave(kind)
    await newcomer
  })

  test("QUEUE_FULL: too many wait", async () => {
    const { enter, leave } = gateOf(1, 1)
    await enter(kind, undefined)
    const waiting = enter(kind, undefined)
    await expect(enter(kind, undefined)).rejects.toMatchObject({ reason: "QUEUE_FULL" })
    leave(kind)
    await waiting
    const next = enter(kind, undefined)
    leave(kind)
    await next
  })

  test("who gives up is gone from the queue, and his signal holds nothing of it", async () => {
    const { enter, leave } = gateOf(1, 1)
    await enter(kind, undefined)
    const reason = new Error("gone")
    const leaving = new AbortController()
    const waiting = enter(kind, leaving.signal)
    leaving.abort(reason)
    await expect(waiting).rejects.toBe(reason)
    const next = enter(kind, AbortSignal.timeout(60_000))
    leave(kind)
    await next
    leave(kind)
    await enter(kind, undefined)
  })

  test("a signal that comes after the place does not give it back", async () => {
    const { enter, leave } = gateOf(1, 1)
    await enter(kind, undefined)
    const late = new AbortController()
    const waiting = enter(kind, late.signal)
    leave(kind)
    late.abort()
    await waiting
    const next = enter(kind, undefined)
    expect(await settled(next)).toBe(false)
    leave(kind)
    await next
  })

  test("throws the reason of a signal that came before, and takes no place", async () => {
    const { enter } = gateOf(1, 0)
    const reason = new Error("gone")
    await expect(enter(kind, AbortSignal.abort(reason))).rejects.toBe(reason)
    await enter(kind, undefined)
  })

  test("closed, it turns away those who wait and all who come", async () => {
    const { enter, close } = gateOf(1, 5)
    await enter(kind, undefined)
    const waiting = [enter(kind, undefined), enter(kind, undefined)]
    close()
    for (const call of [...waiting, enter(kind, undefined)]) {
      await expect(call).rejects.toMatchObject({ reason: "DATABASE_UNAVAILABLE" })
    }
  })
})

describe("a gate with places for readers", () => {
  test("lets readers past writers who wait because there are too many of them", async () => {
    const { enter, leave } = gate(queue(10), { places: 3, writers: 2 })
    await enter("write", undefined)
    await enter("write", undefined)
    const writer = enter("write", undefined)
    await enter("read", undefined)
    const reader = enter("read", undefined)
    leave("read")
    await reader
    expect(await settled(writer)).toBe(false)
    leave("write")
    await writer
  })

  test("gives a place that both may have to who came first", async () => {
    const { enter, leave } = gate(queue(10), { places: 2, writers: 1 })
    await enter("read", undefined)
    await enter("write", undefined)
    const order: string[] = []
    const calls = (["write", "read", "read", "write"] as const).map((kind, n) =>
      enter(kind, undefined).then(() => order.push(`${kind} ${n}`)),
    )
    leave("write")
    await calls[0]
    leave("write")
    await calls[1]
    leave("read")
    await calls[2]
    leave("read")
    await calls[3]
    expect(order).toEqual(["write 0", "read 1", "read 2", "write 3"])
  })
})
