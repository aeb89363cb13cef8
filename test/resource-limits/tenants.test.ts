import { EventEmitter } from "node:events"
import { setImmediate as nextTurn } from "node:timers/promises"
import { EventService } from "@authwire/proto"
import { enveloped, header, pathOf } from "@authwire/test-support/attack/requests.js"
import { type AttackStream, attackConnection, endOf } from "@authwire/test-support/attack/streams.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { openService } from "@authwire/test-support/processes/service.js"
import { encryptionKeys } from "@authwire/test-support/store-contract/context.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, describe, expect, test } from "@jest/globals"
import type { EventFeed } from "../../server/src/events/feed.js"
import { concurrencyLimit } from "../../server/src/overload/concurrency-limit.js"
import type { Call } from "../../server/src/rpc/call.js"
import { eventService } from "../../server/src/services/event.js"
import { cacheHubs } from "../../server/src/session-cache/hubs.js"
import { openSqlStore } from "../../server/src/store/sql/index.js"
import { lastSeenWriter } from "../../server/src/store/sql/sessions/last-seen.js"
import { connectionPermits } from "../../server/src/store/sql/transaction/connection-permits.js"
import { queue } from "../../server/src/store/sql/transaction/queue.js"
import type { EventStore } from "../../server/src/store/store.js"
import { openGrpcListener } from "../../server/src/transport/grpc/grpc.js"
import { Connection, keyBudgets } from "../../server/src/transport/limits/connection.js"
import { formatAddress } from "../../server/src/util/address.js"
import type { Owner } from "../../server/src/util/owner.js"
import { type SharedLimit, sharedLimits } from "../../server/src/util/shared-limits.js"
import { deliverySlots } from "../../server/src/webhooks/delivery-slots.js"

const later = endsAfterEach()
const MiB = 1024 * 1024
const position = { sequence: 0, asOf: 0 }
const endOfTest = new AbortController()
afterAll(() => endOfTest.abort())
const endless = () => new Promise<never>(() => {})

/** Takes some of a limit for an owner. Throws or returns false if the owner gets no more. */
type Attempt = (owner: Owner) => Promise<unknown> | unknown

/** Opens a connection on which a key has made a call. */
function connections(maxConnections = 10_000) {
  const budgets = keyBudgets(MiB, maxConnections)
  return (owner: Owner) => {
    const connection = new Connection(MiB, undefined, budgets)
    const admit = (stream = new EventEmitter()) => {
      connection.admit({ ...owner, hasScope: () => true }, stream)
    }
    const first = new EventEmitter()
    admit(first)
    first.emit("close")
    return { connection, admit }
  }
}

/** Opens one connection after the other, and takes from each what it gets, in steps of 1 MiB. */
function takesBytes(of: "requests" | "answers"): Attempt {
  const open = connections(1_000_000)
  const last = new Map<string | undefined, Connection>()
  return (owner) => {
    if (last.get(owner.keyId)?.[of].take(MiB) === true) return true
    const { connection } = open(owner)
    last.set(owner.keyId, connection)
    return connection[of].take(MiB)
  }
}

/** How much of each limit an attempt takes, and the attempts of the part that has the limit. */
const attempts: Record<keyof typeof sharedLimits, { step?: number; start: () => Promise<Attempt> | Attempt }> = {
  connections: { start: () => connections() },
  streams: {
    start() {
      const open = connections()
      const known = new Map<string | undefined, ReturnType<typeof open>>()
      return (owner) => {
        const found = known.get(owner.keyId) ?? open(owner)
        known.set(owner.keyId, found)
        found.admit()
      }
    },
  },
  pipelines: {
    start() {
      const { connection } = connections()({ tenant: "gateway", keyId: "gateway" })
      return (owner) => connection.admitPipeline({ ...owner, hasScope: () => true }, new EventEmitter())
    },
  },
  requestBytes: { step: MiB, start: () => takesBytes("requests") },
  answerBytes: { step: MiB, start: () => takesBytes("answers") },
  eventStreams: {
    start() {
      const events = {
        isEnabled: true,
        history: async () => ({ id: "one", before: 0, last: 0 }),
        sealer: () => () => "cursor",
      }
      const feed = { subscribe: () => ({ start: Promise.resolve(position), end() {} }) }
      const service = eventService({
        events: events as unknown as EventStore,
        feed: feed as unknown as EventFeed,
      })
      const request = { startCursor: "", kinds: [] } as unknown as Parameters<typeof service.watch>[0]
      return (owner) => {
        const caller = { tenant: owner.tenant, signal: new AbortController().signal }
        return service
          .watch(request, caller, { owner } as Call)
          [Symbol.asyncIterator]()
          .next()
      }
    },
  },
  cacheStreams: {
    start() {
      const hubs = cacheHubs({
        feed: { isOn: true, follow: () => () => {}, reach: async () => 0n },
        write: endless,
        now: () => 0,
        elapsed: () => 0,
        after: () => () => {},
      })
      return (owner) => hubs.open(owner, { ready() {}, fail() {} })
    },
  },
  webhookDeliveries: {
    start() {
      const slots = deliverySlots()
      return ({ tenant }) => slots(tenant, true) !== undefined
    },
  },
  activeCalls: {
    start() {
      const { process } = sharedLimits.activeCalls
      const limit = concurrencyLimit({ maxCalls: process, now: () => 0, turn: async () => {} })
      // A call of another owner has its place at once, although many wait.
      return (owner) => {
        const waiting = limit.enter(owner, endOfTest.signal, 1)
        waiting?.catch(() => {})
        return waiting === undefined
      }
    },
  },
  databaseConnections: {
    start() {
      const permits = connectionPermits(queue(1_000), sharedLimits.databaseConnections.process)
      return ({ tenant }) => {
        const acquired = permits.acquire("read", { ofTenant: tenant, signal: endOfTest.signal })
        return Promise.race([acquired.catch(() => false), nextTurn(false)])
      }
    },
  },
  lastSeen: {
    async start() {
      const database = await createStoreDatabase("sqlite")
      later(() => database.drop())
      const store = await openSqlStore({ url: database.url, encryptionKeys })
      later(() => store.close())
      // The first statement lasts as long as the test.
      const writer = lastSeenWriter({ ...store.database, write: endless } as typeof store.database, () => 0)
      let count = 0
      return ({ tenant }) => {
        const tokenHash = Buffer.alloc(32)
        tokenHash.writeUInt32BE(count++)
        return writer.record({ tenant, tokenHash, userId: "u" }, undefined)
      }
    },
  },
}

describe("of two tenants", () => {
  test.each(Object.entries<SharedLimit>(sharedLimits))(
    "S-47: one that takes all it gets of %s, with many keys, leaves the other one its share",
    async (name, { process, tenant, key }) => {
      const { step = 1, start } = attempts[name as keyof typeof sharedLimits]
      const attempt = await start()
      const isTaken = async (owner: Owner) => {
        try {
          return (await attempt(owner)) !== false
        } catch {
          return false
        }
      }
      let taken = 0
      for (let n = 0; n < 20; n++) while (await isTaken({ tenant: "greedy", keyId: `greedy ${n}` })) taken += step
      expect(taken).toBe(tenant)
      const share = Math.min(key, process - tenant)
      for (let had = 0; had < share; had += step) expect(await isTaken({ tenant: "other", keyId: "other" })).toBe(true)
    },
  )

  test("one with eight keys that opens streams of events over one connection leaves the other one its streams", async () => {
    const database = await createStoreDatabase("sqlite", { tenants: ["greedy", "other"] })
    later(() => database.drop())
    const { router, transport } = openService(await database.openStore({ eventsKeepMs: 86_400_000 }), {
      access: {
        admit: () => (call) => {
          const [tenant = "", keyId] = (call.header("authorization") ?? "").replace("Bearer ", "").split(".")
          call.identity = { keyId, tenant, hasScope: () => true }
          return undefined
        },
      },
    })
    const listener = await openGrpcListener(transport)
    later(async () => {
      listener.stopAccepting()
      await router.drain(1_000)
      await listener.closed(1_000)
    })
    const connection = attackConnection(`http://${formatAddress(listener.address)}`)
    later(async () => connection.close())
    const watch = (owner: string, count: number): AttackStream[] =>
      Array.from({ length: count }, () =>
        connection.open(header(pathOf(EventService.method.watch), { key: owner }), enveloped(Buffer.alloc(0))),
      )
    const { tenant, key } = sharedLimits.eventStreams
    const greedy = Array.from({ length: 8 }, (_, n) => watch(`greedy.${n}`, key)).flat()
    const ended = () => greedy.filter(({ stream }) => stream.closed)
    await until(() => ended().length === 8 * key - tenant)
    const other = watch("other.key", key)
    await Promise.all(other.map(({ stream }) => new Promise((resolve) => stream.once("data", resolve))))
    expect(other.some(({ stream }) => stream.closed)).toBe(false)
    expect(await endOf(ended()[0] as AttackStream)).toContain("8")
  })
})
