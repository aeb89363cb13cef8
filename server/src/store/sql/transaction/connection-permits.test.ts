import { setImmediate as nextTurn } from "node:timers/promises"
import { afterEach, expect, jest, test } from "@jest/globals"
import { connectionPermits, type Purpose } from "./connection-permits.js"
import { queue } from "./queue.js"

/** Permits, and the names of those who have got one, in their order. */
function recorded(permits: number, queueLimit = 10, areBlocking = false) {
  const waiting = queue(queueLimit)
  const all = connectionPermits<string>(waiting, permits, areBlocking)
  const order: string[] = []
  return {
    ...{ order, close: waiting.close, permits: all },
    release: (purpose: Purpose, tenant?: string, heldMs = 0) => all.release(purpose, { ofTenant: tenant }, heldMs),
    async acquire(name: string, purpose: Purpose, signal?: AbortSignal, tenant?: string) {
      const shared = await all.acquire(purpose, { signal, ofTenant: tenant })
      order.push(shared === undefined ? name : `${name} joins ${shared}`)
    },
  }
}

afterEach(() => {
  jest.useRealTimers()
})

test("writers leave permits to readers, and work that has met a lock leaves permits to other writers", async () => {
  const { acquire, permits, release, order } = recorded(10)
  for (const n of [1, 2, 3]) acquire(`retry ${n}`, "retry")
  for (const n of [1, 2, 3, 4, 5, 6, 7]) acquire(`write ${n}`, "write")
  for (const n of [1, 2, 3]) acquire(`read ${n}`, "read")
  await nextTurn()
  const writers = [1, 2, 3, 4, 5, 6].map((n) => `write ${n}`)
  expect(order.splice(0)).toEqual(["retry 1", "retry 2", ...writers, "read 1", "read 2"])
  expect(permits.held).toBe(10)
  release("write")
  await nextTurn()
  expect(order.splice(0)).toEqual(["write 7"])
  release("retry")
  await nextTurn()
  expect(order.splice(0)).toEqual(["retry 3"])
  release("write")
  await nextTurn()
  expect(order).toEqual(["read 3"])
})

test("S-22: a tenant gets neither all permits nor all of a purpose, also if nobody else calls", async () => {
  const { acquire, release, permits, order } = recorded(10, 100)
  const all = (purpose: Purpose, count: number, tenant?: string) => {
    for (let n = 0; n < count; n++) acquire(`${purpose} ${tenant}`, purpose, undefined, tenant)
  }
  all("retry", 3, "a")
  all("scan", 3, "a")
  all("write", 10, "a")
  all("read", 5, "a")
  await nextTurn()
  expect(
    Object.entries(Object.groupBy(order.splice(0), (name) => name)).map(([name, some]) => [name, some?.length]),
  ).toEqual([
    ["retry a", 1],
    ["scan a", 1],
    ["write a", 6],
    ["read a", 1],
  ])
  // Others have the rest at once, although calls of the tenant wait.
  acquire("write b", "write", undefined, "b")
  await nextTurn()
  expect(order.splice(0)).toEqual(["write b"])
  release("write", "b")
  await nextTurn()
  expect([order, permits.held]).toEqual([[], 9])
  // What the service does itself is bounded elsewhere.
  const own = recorded(2)
  for (const n of [1, 2]) own.acquire(`${n}`, "read")
  await nextTurn()
  expect(own.order).toEqual(["1", "2"])
})

test("S-22: no tenant is next twice in a row while another one waits", async () => {
  const { acquire, release, order } = recorded(1, 20)
  acquire("first", "read", undefined, "a")
  for (const name of ["a1", "a2", "a3", "b1", "b2"]) acquire(name, "read", undefined, name[0])
  acquire("the service", "read")
  for (const tenant of ["a", "b", "a", "b", "a"]) {
    release("read", tenant)
    await nextTurn()
  }
  expect(order).toEqual(["first", "b1", "a1", "b2", "a2", "the service"])
})

test("S-22: where there are several connections, the reads of a tenant do not make its scan wait for those of others", async () => {
  const { acquire, release, order } = recorded(5)
  acquire("a1", "scan", undefined, "a")
  for (const name of ["b", "a2"]) acquire(name, "scan", undefined, name[0])
  acquire("read", "read", undefined, "b")
  release("read", "b")
  release("scan", "a")
  await nextTurn()
  expect(order).toEqual(["a1", "read", "b"])
})

test("S-22: where statements block, a tenant whose statements took long waits until others could call and be answered", async () => {
  const { acquire, release, order } = recorded(1, 10, true)
  /** Two calls of a tenant, of which the first takes this long. */
  const two = async (tenant: string, ms: number) => {
    await acquire(tenant, "write", undefined, tenant)
    acquire(`next ${tenant}`, "write", undefined, tenant)
    order.length = 0
    release("write", tenant, ms)
    await nextTurn()
  }
  await two("a", 5)
  // There is nobody to rest for.
  expect(order).toEqual(["next a"])
  release("write", "a")
  await two("b", 4.9)
  expect(order).toEqual(["next b"])
  release("write", "b")
  await two("b", 5)
  for (const name of ["a", "the service", "the service"]) {
    expect(order.splice(0)).toEqual([])
    acquire(name, "read", undefined, name === "a" ? name : undefined)
    await nextTurn()
    expect(order.splice(0)).toEqual([name])
    release("read", name === "a" ? name : undefined, 5)
  }
  await nextTurn()
  expect(order).toEqual(["next b"])
  release("write", "b")
  // The rest ends although nobody else calls.
  await two("b", 5)
  await nextTurn()
  await nextTurn()
  expect(order).toEqual([])
  await nextTurn()
  expect(order).toEqual(["next b"])
  const elsewhere = recorded(1)
  for (const name of ["a", "b1", "b2"])
    await Promise.race([elsewhere.acquire(name, "read", undefined, name[0]), nextTurn()])
  elsewhere.release("read", "a")
  elsewhere.release("read", "b", 5)
  await nextTurn()
  expect(elsewhere.order).toEqual(["a", "b1", "b2"])
})

test("a permit that several may have goes to who came first, and not to a newcomer", async () => {
  const { acquire, permits, release, order } = recorded(1)
  acquire("first", "write")
  for (const purpose of ["read", "shared", "write", "retry"] as const) acquire(purpose, purpose)
  for (const purpose of ["write", "read", "shared", "write", "retry"] as const) {
    release(purpose)
    if (purpose === "shared") permits.close()
    acquire("newcomer", "read")
    await nextTurn()
  }
  expect(order.slice(0, 5)).toEqual(["first", "read", "shared", "write", "retry"])
})

test("who waits for a shared connection joins a transaction, begins the next one, or begins another after 5 ms", async () => {
  jest.useFakeTimers({ doNotFake: ["setImmediate"] })
  const { acquire, permits, order } = recorded(10)
  for (const n of [1, 2, 3, 4, 5]) acquire(`${n}`, "shared")
  await nextTurn()
  expect(order.splice(0)).toEqual(["1"])
  expect(permits.offer("a transaction")).toBe(true)
  permits.close()
  await nextTurn()
  expect(order.splice(0)).toEqual(["2 joins a transaction", "3"])
  await jest.advanceTimersByTimeAsync(4)
  expect(order).toEqual([])
  await jest.advanceTimersByTimeAsync(1)
  expect(order.splice(0)).toEqual(["4"])
  await jest.advanceTimersByTimeAsync(5)
  expect(order).toEqual(["5"])
  expect(permits.offer("a transaction")).toBe(false)
})

test.each<Purpose>(["read", "write", "retry", "shared"])(
  "%s: too many waiters are QUEUE_FULL, who gives up leaves the queue, and closing rejects all",
  async (purpose) => {
    const { acquire, permits, release, close, order } = recorded(1, 1)
    await acquire("first", purpose)
    const leaving = new AbortController()
    const gone = new Error("gone")
    const left = acquire("left", purpose, leaving.signal)
    await expect(acquire("full", purpose)).rejects.toMatchObject({ reason: "QUEUE_FULL" })
    leaving.abort(gone)
    await expect(left).rejects.toBe(gone)
    await expect(acquire("aborted", purpose, AbortSignal.abort(gone))).rejects.toBe(gone)
    const late = new AbortController()
    const next = acquire("next", purpose, late.signal)
    if (purpose === "shared") permits.close()
    release(purpose)
    // The permit is not given back by a signal that aborts later.
    late.abort()
    await next
    expect(permits.held).toBe(1)
    const waiting = acquire("waiting", purpose)
    close()
    for (const call of [waiting, acquire("late", purpose)])
      await expect(call).rejects.toMatchObject({ reason: "DATABASE_UNAVAILABLE" })
    expect(order).toEqual(["first", "next"])
  },
)
