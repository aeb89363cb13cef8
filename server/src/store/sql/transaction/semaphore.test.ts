import { describe, expect, test } from "@jest/globals"
import { type Queue, queue } from "./queue.js"
import { type Kind, type Semaphore, semaphore } from "./semaphore.js"

/** Whether a promise is settled by now. */
async function settled(promise: Promise<unknown>): Promise<boolean> {
  const pending = Symbol()
  const first = await Promise.race([promise.catch(() => {}), new Promise((resolve) => setImmediate(resolve, pending))])
  return first !== pending
}

/** A semaphore whose permits are all for readers and writers alike, and its queue. */
function semaphoreOf(permits: number, queueLimit: number): Queue & Semaphore {
  const waiting = queue(queueLimit)
  return { ...waiting, ...semaphore(waiting, { permits, writerPermits: permits }) }
}

describe.each<Kind>(["read", "write"])("a semaphore, kind %s", (kind) => {
  test("admits as many as there are permits, and the waiters in their order", async () => {
    const { acquire, release } = semaphoreOf(2, 10)
    const acquired: number[] = []
    const calls = [1, 2, 3, 4].map((n) => acquire(kind, undefined).then(() => acquired.push(n)))
    await Promise.all(calls.slice(0, 2))
    expect(await settled(calls[2] as Promise<number>)).toBe(false)
    release(kind)
    await calls[2]
    expect(await settled(calls[3] as Promise<number>)).toBe(false)
    release(kind)
    await calls[3]
    expect(acquired).toEqual([1, 2, 3, 4])
  })

  test("a newcomer does not overtake a waiter", async () => {
    const { acquire, release } = semaphoreOf(1, 10)
    await acquire(kind, undefined)
    const waiting = acquire(kind, undefined)
    release(kind)
    const newcomer = acquire(kind, undefined)
    await waiting
    expect(await settled(newcomer)).toBe(false)
    release(kind)
    await newcomer
  })

  test("QUEUE_FULL: too many wait", async () => {
    const { acquire, release } = semaphoreOf(1, 1)
    await acquire(kind, undefined)
    const waiting = acquire(kind, undefined)
    await expect(acquire(kind, undefined)).rejects.toMatchObject({ reason: "QUEUE_FULL" })
    release(kind)
    await waiting
    const next = acquire(kind, undefined)
    release(kind)
    await next
  })

  test("a waiter that gives up leaves the queue, and its signal keeps no reference to it", async () => {
    const { acquire, release } = semaphoreOf(1, 1)
    await acquire(kind, undefined)
    const reason = new Error("gone")
    const leaving = new AbortController()
    const waiting = acquire(kind, leaving.signal)
    leaving.abort(reason)
    await expect(waiting).rejects.toBe(reason)
    const next = acquire(kind, AbortSignal.timeout(60_000))
    release(kind)
    await next
    release(kind)
    await acquire(kind, undefined)
  })

  test("a signal that aborts after the permit was acquired does not release it", async () => {
    const { acquire, release } = semaphoreOf(1, 1)
    await acquire(kind, undefined)
    const late = new AbortController()
    const waiting = acquire(kind, late.signal)
    release(kind)
    late.abort()
    await waiting
    const next = acquire(kind, undefined)
    expect(await settled(next)).toBe(false)
    release(kind)
    await next
  })

  test("throws the reason of a signal that has aborted, and takes no permit", async () => {
    const { acquire } = semaphoreOf(1, 0)
    const reason = new Error("gone")
    await expect(acquire(kind, AbortSignal.abort(reason))).rejects.toBe(reason)
    await acquire(kind, undefined)
  })

  test("closing rejects all waiters and all later calls", async () => {
    const { acquire, close } = semaphoreOf(1, 5)
    await acquire(kind, undefined)
    const waiting = [acquire(kind, undefined), acquire(kind, undefined)]
    close()
    for (const call of [...waiting, acquire(kind, undefined)]) {
      await expect(call).rejects.toMatchObject({ reason: "DATABASE_UNAVAILABLE" })
    }
  })
})

describe("a semaphore with permits for readers", () => {
  test("readers pass writers that wait for the limit of writers", async () => {
    const { acquire, release } = semaphore(queue(10), { permits: 3, writerPermits: 2 })
    await acquire("write", undefined)
    await acquire("write", undefined)
    const writer = acquire("write", undefined)
    await acquire("read", undefined)
    const reader = acquire("read", undefined)
    release("read")
    await reader
    expect(await settled(writer)).toBe(false)
    release("write")
    await writer
  })

  test("a permit that both may have goes to the one that came first", async () => {
    const { acquire, release } = semaphore(queue(10), { permits: 2, writerPermits: 1 })
    await acquire("read", undefined)
    await acquire("write", undefined)
    const order: string[] = []
    const calls = (["write", "read", "read", "write"] as const).map((kind, n) =>
      acquire(kind, undefined).then(() => order.push(`${kind} ${n}`)),
    )
    release("write")
    await calls[0]
    release("write")
    await calls[1]
    release("read")
    await calls[2]
    release("read")
    await calls[3]
    expect(order).toEqual(["write 0", "read 1", "read 2", "write 3"])
  })
})
