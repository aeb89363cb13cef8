import { describe, expect, test } from "@jest/globals"
import type { Failure } from "../errors/failure.js"
import type { Changes } from "./changes.js"
import { type FollowRequest, type FollowResponse, longest, minStaleMs } from "./client-stream.js"
import { type CacheReport, cacheHub } from "./hub.js"

/** A hub whose clock, timers, looks and writes are in the hands of the test. */
function start() {
  let time = 1_000
  let sequence = 0n
  let listener: ((changes: Changes) => void) | undefined
  let timers: { at: number; call: () => void }[] = []
  let looks = 0
  /** The writes of the row, each with the functions that end it. */
  const writes: { row: CacheReport & { ms: number }; done: () => void; fail: () => void }[] = []
  const hub = cacheHub({
    follow(follower) {
      listener = follower
      return () => {
        listener = undefined
      }
    },
    write: ({ leaseMs, confirmed }, ms) =>
      new Promise((done, reject) =>
        writes.push({ row: { leaseMs, confirmed, ms }, done, fail: () => reject(new Error("down")) }),
      ),
    now: () => time,
    elapsed: () => time,
    after(ms, call) {
      looks++
      const timer = { at: time + ms, call }
      timers.push(timer)
      return () => {
        timers = timers.filter((one) => one !== timer)
      }
    },
  })
  const settle = () => new Promise(setImmediate)

  function open() {
    const failures: Failure[] = []
    const stream = hub.open({ ready() {}, fail: (failure) => failures.push(failure) })
    return {
      failures,
      say: (ping: Partial<FollowRequest>) =>
        stream.receive({ maxStaleMs: 0, nonce: 0n, confirmed: 0n, done: false, ...ping }),
      take: (): Partial<FollowResponse> => stream.take() ?? {},
      end: () => stream.end(),
    }
  }

  const playing = {
    hub,
    writes,
    open,
    isFollowing: () => listener !== undefined,
    /** How many timers were set. Each look at the leases sets one for the next write. */
    looks: () => looks,
    /** Lets the time pass without running timers. */
    wait(ms: number) {
      time += ms
    },
    async runTimers() {
      for (let due = timers[0]; due !== undefined && due.at <= time; due = timers[0]) {
        timers.shift()
        due.call()
        await settle()
      }
    },
    /** A look at the database that begins now and finds changes of these keys. */
    look(keys: readonly string[] = [], more: Partial<Changes> = {}) {
      if (keys.length > 0) sequence++
      listener?.({ asOf: time, sequence, keys, isOfAll: false, isReset: false, ...more })
    },
    async written(how: "done" | "fail" = "done") {
      writes.at(-1)?.[how]()
      await settle()
    },
    /** A client that has a lease. */
    async leased(maxStaleMs: number) {
      const client = open()
      client.say({ maxStaleMs, nonce: 1n })
      time += 1
      playing.look()
      await playing.written()
      expect(client.take().nonce).toBe(1n)
      return client
    },
  }
  return playing
}

test.each<[what: string, field: string, earlier: Partial<FollowRequest>[], request: Partial<FollowRequest>]>([
  ["no lease in the first one", "max_stale_ms", [], { nonce: 1n }],
  ["too short a lease", "max_stale_ms", [], { maxStaleMs: minStaleMs - 1 }],
  ["a shorter lease later", "max_stale_ms", [{ maxStaleMs: 1_000 }, { maxStaleMs: 1_000 }, {}], { maxStaleMs: 999 }],
  ["a longer lease later", "max_stale_ms", [{ maxStaleMs: 1_000 }], { maxStaleMs: 1_001 }],
  ["a sequence that was not sent", "confirmed", [{ maxStaleMs: minStaleMs, confirmed: 1n }], { confirmed: 2n }],
])("a request with %s breaks a rule", (_, field, earlier, request) => {
  const { open, look } = start()
  const client = open()
  look(["a"])
  for (const one of earlier) client.say(one)
  const broken = expect.objectContaining({ violations: [expect.objectContaining({ field })] })
  expect(() => client.say(request)).toThrow(broken)
})

describe("bounds", () => {
  test("a client with too many pending keys is told to clear its cache, once", () => {
    const { open, look } = start()
    const client = open()
    look(Array.from({ length: 4_096 }, (_, n) => `a${n}`))
    expect(client.take()).toMatchObject({ reset: false, keys: { length: 4_096 } })
    look(Array.from({ length: 4_096 }, (_, n) => `a${n}`))
    look(["b"])
    expect(client.take()).toMatchObject({ reset: true, keys: [] })
    look(["c"])
    expect(client.take()).toMatchObject({ reset: false, keys: ["c"] })
  })

  test("of more than 1,000 cut streams, the leases are merged into one that ends last and knows least", async () => {
    const { hub, leased, open, look, wait, writes, written, runTimers } = start()
    for (let n = 1; n < 1_000; n++) (await leased(2_000)).end()
    ;(await leased(40_000)).end()
    look(["a"])
    const late = await leased(2_000)
    late.end()
    expect(hub.load).toEqual({ streams: 0, leases: 1_000 })
    wait(5_000)
    expect(hub.load).toEqual({ streams: 0, leases: 1 })
    const next = open()
    next.say({ maxStaleMs: 50_000, nonce: 1n })
    wait(1)
    look()
    await written()
    expect(writes.at(-1)?.row).toMatchObject({ leaseMs: 50_000, confirmed: 0n })
    next.say({ done: true })
    next.end()
    wait(31_000)
    await runTimers()
    expect(writes.at(-1)?.row).toMatchObject({ leaseMs: 40_000, confirmed: 0n })
    wait(5_000)
    expect(hub.load.leases).toBe(0)
  })
})

describe("a lease", () => {
  test("is granted by a look that began after the ping, and not before the row is written", async () => {
    const { open, look, wait, writes, written, runTimers } = start()
    const client = open()
    client.say({ maxStaleMs: 1_000, nonce: 1n })
    // It may have begun before the ping.
    look()
    expect(writes).toEqual([])
    wait(1)
    look()
    expect(writes).toMatchObject([{ row: { leaseMs: 1_000, confirmed: 0n, ms: longest(60_000) } }])
    expect(client.take()).toEqual({})
    await written("fail")
    look()
    expect([client.take(), writes.length]).toEqual([{}, 1])
    wait(250)
    await runTimers()
    expect(writes).toHaveLength(2)
    expect(client.take()).toEqual({})
    await written()
    expect(client.take().nonce).toBe(1n)
  })

  test("counts as long as its client may use it by its own clock; without a stream, the database is not read", async () => {
    const { hub, leased, wait, isFollowing } = start()
    const client = await leased(1_000)
    wait(1_039)
    expect(isFollowing()).toBe(true)
    client.end()
    expect(isFollowing()).toBe(false)
    expect(hub.load.leases).toBe(1)
    wait(1)
    expect(hub.load.leases).toBe(0)
  })

  test("is not granted by a row that ends before it", async () => {
    const { leased, look, wait, writes, written } = start()
    const client = await leased(10_000)
    wait(55_000)
    client.say({ nonce: 2n })
    wait(1)
    look()
    expect(client.take()).toEqual({})
    expect(writes).toHaveLength(2)
    await written()
    expect(client.take().nonce).toBe(2n)
  })

  test("is not granted by a row that a write may have replaced by one of a shorter lease", async () => {
    const { leased, open, look, wait, writes, written, runTimers } = start()
    const short = await leased(1_000)
    const long = await leased(10_000)
    long.say({ done: true })
    long.end()
    wait(31_000)
    await runTimers()
    expect(writes.at(-1)?.row).toMatchObject({ leaseMs: 1_000 })
    await written("fail")
    const next = open()
    next.say({ maxStaleMs: 10_000, nonce: 1n })
    short.say({ nonce: 2n })
    wait(1)
    look()
    expect([next.take(), short.take().nonce]).toEqual([{}, 2n])
    wait(250)
    await runTimers()
    await written()
    expect(next.take().nonce).toBe(1n)
  })
})

test("a hub that was stopped writes nothing any more", async () => {
  const { hub, leased, open, look, wait, writes, runTimers } = start()
  await leased(1_000)
  hub.stop()
  open().say({ maxStaleMs: 10_000, nonce: 1n })
  wait(60_000)
  look()
  await runTimers()
  expect(writes).toHaveLength(1)
})

test("after missed changes all streams fail, and the row has the sequence of the database that is there now", async () => {
  const { leased, open, look, wait, writes, written, runTimers } = start()
  const clients = [await leased(1_000), await leased(1_000)]
  for (const key of ["a", "b", "c"]) look([key])
  for (const client of clients) client.say({ confirmed: client.take().sequence as bigint })
  wait(100)
  await runTimers()
  expect(writes.at(-1)?.row).toMatchObject({ confirmed: 3n })
  await written()
  look([], { sequence: 1n, isReset: true })
  for (const client of clients) {
    expect(client.failures).toMatchObject([{ reason: "CONFLICT" }])
    client.end()
  }
  const next = open()
  next.say({ maxStaleMs: 1_000, nonce: 1n })
  wait(2_000)
  look([], { sequence: 1n })
  await runTimers()
  await written()
  expect(writes.at(-1)?.row).toMatchObject({ confirmed: 1n })
})

test("requests and ended streams look at the leases of all clients only now and then", async () => {
  const { leased, open, looks, wait, runTimers } = start()
  const flooding = await leased(1_000)
  for (let n = 0; n < 50; n++) await leased(1_000)
  wait(100)
  await runTimers()
  const before = looks()
  for (let n = 0; n < 1_000; n++) flooding.say({ nonce: BigInt(n) })
  expect(looks() - before).toBe(0)
  for (let n = 0; n < 1_000; n++) open().end()
  for (let n = 0; n < 1_000; n++) open().say({ maxStaleMs: 1_000 })
  expect(looks() - before).toBeLessThan(3)
  // What was put off is done a little later, once.
  wait(10)
  await runTimers()
  expect(looks() - before).toBeLessThan(5)
})
