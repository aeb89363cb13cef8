import { expect, test } from "@jest/globals"
import type { Changes } from "../../server/src/session-cache/changes.js"
import type { FollowResponse } from "../../server/src/session-cache/client-stream.js"
import type { CacheReport, HubStream } from "../../server/src/session-cache/hub.js"
import { cacheHubs } from "../../server/src/session-cache/hubs.js"
import type { SharedLimit } from "../../server/src/util/shared-limits.js"
import { Process, Simulation } from "./simulation.js"

// Tests the hubs of one process step by step. The random histories test them with several processes.
function playing(limit?: SharedLimit) {
  const simulation = new Simulation(1)
  const { now, elapsed, after } = new Process(simulation)
  async function pass(ms: number): Promise<void> {
    await simulation.run(simulation.time + ms)
    // Continues the work that no event of the simulation triggers.
    await new Promise(setImmediate)
  }
  const followers = new Set<{ tenant: string; listener: (changes: Changes) => void }>()
  const written: (CacheReport & { tenant: string; version: number; ms: number })[] = []
  let held: Promise<void> | undefined
  const hubs = cacheHubs({
    now,
    elapsed,
    after,
    ...(limit && { limit }),
    feed: {
      isOn: true,
      follow(tenant, listener) {
        const follower = { tenant, listener }
        followers.add(follower)
        return () => followers.delete(follower)
      },
      reach: async () => 0n,
    },
    async write(tenant, row) {
      written.push({ tenant, ...row })
      await held
    },
  })

  /** The last sequence of each tenant. */
  const sequences = new Map<string, bigint>()
  /** A poll that finds changes in these tenants. */
  async function look(...tenants: string[]): Promise<void> {
    for (const tenant of tenants) sequences.set(tenant, (sequences.get(tenant) ?? 0n) + 1n)
    for (const { tenant, listener } of [...followers]) {
      const sequence = sequences.get(tenant) ?? 0n
      const isChanged = tenants.includes(tenant)
      listener({ asOf: now(), sequence, keys: isChanged ? ["key"] : [], isOfAll: false, isReset: false })
    }
    await pass(1)
  }

  function open(tenant: string, key = tenant) {
    const news: FollowResponse[] = []
    const stream: HubStream = hubs.open(
      { tenant, keyId: key },
      {
        ready: () =>
          queueMicrotask(() => {
            const next = stream.take()
            if (next !== undefined) news.push(next)
          }),
        fail: () => {},
      },
    )
    let nonce = 0n
    return {
      news,
      end: () => stream.end(),
      say: (request: { confirmed?: bigint; done?: boolean }) =>
        stream.receive({ maxStaleMs: 0, nonce: 0n, confirmed: 0n, done: false, ...request }),
      /** Sends a ping, and lets the time pass until it may be answered. */
      async ping(maxStaleMs: number) {
        stream.receive({ maxStaleMs, nonce: ++nonce, confirmed: 0n, done: false })
        await pass(1)
        await look()
        return news.at(-1)?.nonce === nonce
      },
    }
  }

  return {
    hubs,
    open,
    look,
    pass,
    followers: () => [...followers].map(({ tenant }) => tenant),
    /** The last row written for a tenant, and the number of writes. */
    row: (tenant: string) => written.findLast((row) => row.tenant === tenant),
    writes: (tenant: string) => written.filter((row) => row.tenant === tenant).length,
    hold(until: Promise<void> | undefined) {
      held = until
    },
  }
}

test("a client that never confirms delays the row of its own tenant, and of no other", async () => {
  const { open, look, row, pass } = playing()
  const [mute, good] = [open("a"), open("b")]
  expect(await mute.ping(10_000)).toBe(true)
  expect(await good.ping(1_000)).toBe(true)
  await look("a", "b")
  expect([mute.news.at(-1)?.keys, good.news.at(-1)?.keys]).toEqual([["key"], ["key"]])
  good.say({ confirmed: good.news.at(-1)?.sequence as bigint })
  await pass(100)
  expect(row("a")).toMatchObject({ leaseMs: 10_000, confirmed: 0n })
  expect(row("b")).toMatchObject({ leaseMs: 1_000, confirmed: 1n })
})

test("changes in other tenants are not sent, and cause no write", async () => {
  const { open, look, writes, pass } = playing()
  const client = open("a")
  expect(await client.ping(10_000)).toBe(true)
  await pass(100)
  const [told, before] = [client.news.length, writes("a")]
  for (let n = 0; n < 50; n++) {
    await look("b")
    await pass(50)
  }
  expect(client.news).toHaveLength(told)
  expect(writes("a")).toBe(before)
})

test("a hub is removed when the last lease is over, and not before", async () => {
  const { hubs, open, followers, pass } = playing()
  const client = open("a")
  await client.ping(1_000)
  expect(hubs.load).toEqual({ streams: 1, leases: 1 })
  client.end()
  expect(hubs.load).toEqual({ streams: 0, leases: 1 })
  await pass(900)
  expect(hubs.tenants).toBe(1)
  await pass(500)
  expect(hubs.tenants).toBe(0)
  expect(followers()).toEqual([])
  // Immediately, if the client says that it no longer uses its cache.
  const other = open("a")
  await other.ping(1_000)
  await pass(100)
  other.say({ done: true })
  other.end()
  expect(hubs.tenants).toBe(0)
})

test("a hub that is created again writes the same row with a higher version, and grants no lease before", async () => {
  const { hubs, open, look, row, writes, pass, hold } = playing()
  const first = open("a")
  await first.ping(10_000)
  first.say({ done: true })
  first.end()
  await pass(100)
  expect(hubs.tenants).toBe(0)
  // Other tenants have their own rows, and the versions continue.
  await open("b").ping(1_000)
  const before = row("a")?.version as number
  const writesBefore = writes("a")
  let release = () => {}
  hold(
    new Promise((resolve) => {
      release = resolve
    }),
  )
  await look("a", "b")
  const again = open("a")
  expect(await again.ping(200)).toBe(false)
  expect(writes("a")).toBe(writesBefore + 1)
  expect(row("a")?.version).toBeGreaterThan(before)
  await look()
  expect(again.news).toEqual([])
  // A hub is not removed either while the content of its row is unknown.
  again.end()
  expect(hubs.tenants).toBe(2)
  hold(undefined)
  release()
  await pass(1)
  expect(hubs.tenants).toBe(1)
  const last = open("a")
  expect(await last.ping(200)).toBe(true)
  await pass(100)
  expect(row("a")).toMatchObject({ leaseMs: 200, confirmed: 1n })
})

test("streams are counted over all tenants: per key, per tenant, and in total", () => {
  const { hubs, open } = playing({ key: 2, tenant: 3, process: 5 })
  const one = open("a", "1")
  open("a", "1")
  expect(() => open("a", "1")).toThrow("the API key has reached the limit of streams for session caches")
  open("a", "2")
  expect(() => open("a", "2")).toThrow("the tenant has")
  open("b", "3")
  open("b", "3")
  expect(() => open("c", "4")).toThrow("the service has")
  expect(hubs.load).toEqual({ streams: 5, leases: 0 })
  expect(hubs.tenants).toBe(2)
  for (let n = 0; n < 2; n++) one.end()
  open("c", "4")
  expect(hubs.tenants).toBe(3)
  expect(() => open("c", "4")).toThrow("the service has")
})

test("a key may open as many streams as have ended, however often its streams end", () => {
  const { open } = playing({ key: 2, tenant: 9, process: 9 })
  for (let round = 0; round < 3; round++) {
    const streams = [open("a", "1"), open("a", "1")]
    expect(() => open("a", "1")).toThrow("the API key has")
    // The first of two streams, ended twice.
    for (let n = 0; n < 2; n++) streams[0]?.end()
    const again = open("a", "1")
    expect(() => open("a", "1")).toThrow("the API key has")
    again.end()
    streams[1]?.end()
  }
})
