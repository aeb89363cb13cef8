import {
  DeleteSessionResponseSchema,
  GetSessionAndUserResponseSchema,
  RevokeUserSessionsResponseSchema,
  SessionService,
  UpdateSessionResponseSchema,
  UpdateUserResponseSchema,
  UserService,
} from "@authwire/proto/slim"
import { create, type Message } from "@bufbuild/protobuf"
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect"
import type { AuthwireAdapterMethods } from "../../client/src/adapter/adapter.js"
import { sessionFromWire, userFromWire } from "../../client/src/adapter/convert.js"
import { sessionCache } from "../../client/src/session-cache/cache.js"
import { cachedAdapter, cachingTransport } from "../../client/src/session-cache/caching.js"
import {
  type FollowEvents,
  type Follower,
  type FollowRequest,
  follower,
} from "../../client/src/session-cache/follower.js"
import { sessionKey, userKey } from "../../client/src/session-cache/keys.js"
import { cachesConfirmed } from "../../server/src/session-cache/awaiting.js"
import type { ChangeFeed, Look } from "../../server/src/session-cache/feed.js"
import type { HubStream, Said } from "../../server/src/session-cache/hub.js"
import { cacheHubs, type Hubs } from "../../server/src/session-cache/hubs.js"
import { Process, Simulation } from "./simulation.js"

/** What is taken out of the protocol, to see that the histories find it. */
export interface Fault {
  /** The clock by which a client looks whether its lease has run out stands still. */
  noLease?: boolean
  /** `await_caches` asks for no rows. */
  noRows?: boolean
  /** Answers are kept whatever was told while they were on their way. */
  noMarks?: boolean
  /** A replica forgets the lease of a stream that is cut. */
  noCut?: boolean
}

interface Stored {
  token: string
  id: string
  userId: string
  version: number
  /** Undefined once it was deleted. */
  isThere: boolean
}

/** What was true from when on: `versions[v]` is when version v was no longer true. */
interface Truth {
  endOf: number[]
}

/** What has come of a history. */
export interface Played {
  /** What was broken, if something was. */
  broken: string[]
  /** Reads that were answered from memory. */
  hits: number
  /** Revocations that were acknowledged after they had waited for the caches. */
  acks: number
  /** How often a replica has made a hub again that it had let go of. */
  again: number
}

/** Plays one random history. */
export async function history(seed: number, fault: Fault = {}): Promise<Played> {
  const simulation = new Simulation(seed)
  const { random } = simulation
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T
  const broken: string[] = []
  let hits = 0
  let acks = 0
  let again = 0

  // The database: sessions, users, and what was committed in which order.
  const sessions = new Map<string, Stored>()
  const users = new Map<string, number>()
  const truths = new Map<string, Truth>()
  /** When it was acknowledged that no cache knows a session any more. */
  const acknowledged = new Map<string, number>()
  const log: { tenant: string; keys: readonly string[] }[] = []
  /** By tenant and process. */
  const rows = new Map<
    string,
    { tenant: string; version: number; leaseMs: number; confirmed: bigint; expires: number }
  >()

  for (let n = 0; n < 3; n++) {
    users.set(`u${n}`, 0)
    truths.set(`u${n}`, { endOf: [] })
  }
  for (let n = 0; n < 5; n++) {
    sessions.set(`t${n}`, { token: `t${n}`, id: `h${n}`, userId: `u${n % 3}`, version: 0, isThere: true })
    truths.set(`t${n}`, { endOf: [] })
  }
  const commit = (keys: string[], tenant = "default") => log.push({ tenant, keys })
  const changed = (name: string, version: number) => {
    const truth = truths.get(name) as Truth
    truth.endOf[version] = simulation.time
  }

  const slowness = pick([0.01, 0.03, 0.15])
  const quick = () => (simulation.chance(slowness) ? simulation.between(100, 1_500) : simulation.between(1, 25))

  // Replicas: a feed that looks every now and then, the rows, and the hubs, which are those of the service.
  interface Replica {
    process: Process
    hubs: Hubs
    feed: ChangeFeed
    name: string
  }
  function replica(name: string): Replica {
    const process = new Process(simulation)
    const followers = new Set<{ tenant: string; listener: (look: Look) => void }>()
    const reaching: { at: number; tenant: string; resolve: (sequence: bigint) => void }[] = []
    const made = new Set<string>()
    let told = 0
    const look = () => {
      const began = process.now()
      simulation.after(quick() / 3, () => {
        // What it has found by now.
        const sequence = log.length
        simulation.after(quick() / 3, () =>
          process.do(() => {
            const changes = log.slice(told, sequence)
            told = sequence
            for (const { tenant, listener } of followers) {
              const own = changes.filter((change) => change.tenant === tenant)
              listener({
                began,
                sequence: BigInt(sequence),
                keys: own.flatMap(({ keys }) => keys),
                isNews: own.length > 0,
                isBroken: false,
              })
            }
            for (const one of reaching.splice(0)) {
              // The last of the tenant that is committed by now, as the service asks its database.
              const last = log.findLastIndex(({ tenant }, index) => tenant === one.tenant && index < sequence) + 1
              if (one.at < began) one.resolve(BigInt(last > 0 ? last : sequence))
              else reaching.push(one)
            }
            process.after(simulation.between(20, 60), look)
          }),
        )
      })
    }
    process.after(1, look)
    const feed: ChangeFeed = {
      isOn: true,
      of(tenant) {
        if (made.has(tenant)) again++
        made.add(tenant)
        return {
          now: process.now,
          follow(listener) {
            const follower = { tenant, listener }
            followers.add(follower)
            return () => followers.delete(follower)
          },
        }
      },
      reach: (tenant) => new Promise((resolve) => reaching.push({ at: process.now(), tenant, resolve })),
    }
    const keep = (tenant: string, kept: Said & { version: number }) =>
      process.see(
        (async () => {
          const isLost = simulation.chance(0.05)
          const key = `${tenant} ${name}`
          const write = () => {
            if ((rows.get(key)?.version ?? 0) < kept.version)
              rows.set(key, { ...kept, tenant, expires: simulation.time + kept.ms })
          }
          // Nobody knows whether it was written; perhaps it is, much later.
          if (isLost) {
            if (simulation.chance(0.7)) simulation.after(simulation.between(1, 3_000), write)
            await simulation.delay(quick())
            throw new Error("the connection was lost")
          }
          await simulation.delay(quick())
          write()
          await simulation.delay(quick())
        })(),
      )
    const hubs = cacheHubs({ feed, keep, now: process.now, after: process.after })
    return { process, hubs, feed, name }
  }
  const replicas = [replica("a"), replica("b")]
  const living = () => replicas.filter(({ process }) => !process.isDead)

  /** A stream over a network that delays, holds up and cuts. Ends when its replica ends, but nobody is told in time. */
  function connect(client: Process, events: FollowEvents) {
    const there = pick(living())
    let stream: HubStream | undefined
    let isCut = false
    let upAt = 0
    let downAt = 0
    const up = (run: () => void) => {
      upAt = Math.max(upAt, simulation.time + quick())
      simulation.after(upAt - simulation.time, () => there.process.do(run))
    }
    const down = (run: () => void) => {
      downAt = Math.max(downAt, simulation.time + quick())
      simulation.after(downAt - simulation.time, () => client.do(() => isCut || run()))
    }
    const cut = () => {
      there.process.do(() => {
        if (fault.noCut) stream?.receive({ maxStaleMs, nonce: 0n, confirmed: 0n, done: true })
        stream?.end()
      })
      // The client hears of it by itself, or never.
      if (simulation.chance(0.7))
        simulation.after(quick(), () =>
          client.do(() => {
            if (isCut) return
            isCut = true
            events.ended(new Error("the stream was cut"))
          }),
        )
    }
    let mayTake = true
    const take = () => {
      mayTake = true
      const news = stream?.take()
      if (news !== undefined) down(() => events.message(news))
    }
    up(() => {
      stream = there.hubs.open(
        { tenant: "default", key: "" },
        {
          ready() {
            if (!mayTake) return
            mayTake = false
            there.process.after(simulation.chance(0.02) ? 800 : 0.1, take)
          },
          fail: cut,
        },
      )
    })
    const connection = { cut, replica: there }
    connections.add(connection)
    return {
      send: (request: FollowRequest) =>
        up(() => stream?.receive({ maxStaleMs: 0, nonce: 0n, confirmed: 0n, done: false, ...request })),
      finish: () => {
        isCut = true
        up(() => stream?.receive({ maxStaleMs: 0, nonce: 0n, confirmed: 0n, done: true }))
        up(() => stream?.end())
      },
      cancel: () => {
        isCut = true
        up(() => stream?.end())
      },
    }
  }
  const connections = new Set<{ cut: () => void; replica: Replica }>()

  // Clients: the cache, the follower, the transport and the adapter are those of the package.
  const maxStaleMs = pick([200, 500, 1_000])
  interface Client {
    process: Process
    follower: Follower
    adapter: AuthwireAdapterMethods
    transport: Transport
    /** What it has been told that it has written. */
    written: Map<string, number>
  }
  function client(): Client {
    const process = new Process(simulation)
    const cache = sessionCache({
      size: pick([2, 100]),
      now: fault.noLease ? () => 0 : process.now,
      timeOfDay: () => 0,
    })
    if (fault.noMarks) {
      const { keep } = cache
      cache.keep = (mark, answer) => keep(mark && cache.beginRead(), answer)
    }
    const following = follower({
      cache,
      maxStaleMs,
      now: process.now,
      after: process.after,
      connect: (events) => connect(process, events),
      random,
      onFailure: () => {},
    })
    const unary = (...[method, , , , input]: Parameters<Transport["unary"]>) =>
      process.see(serve(method.name, input as never))
    const transport = cachingTransport({ unary } as unknown as Transport, { cache, used: following.used })
    const calls = createClient(SessionService, transport)
    const adapter = {
      async getSessionAndUser(sessionToken: string) {
        const { session, user } = await calls.getSessionAndUser({ sessionToken })
        return { session: sessionFromWire(session), user: userFromWire(user) }
      },
    } as AuthwireAdapterMethods
    const cached = cachedAdapter(adapter, { cache, used: following.used }, undefined)
    const look = { ...cached, kept: (token: string) => cache.get(token) }
    return { process, follower: following, adapter: look as never, transport, written: new Map() }
  }

  /** A call of the service: its statement is one moment. */
  async function serve(name: string, input: Record<string, string> & { awaitCaches?: boolean }): Promise<unknown> {
    const there = pick(living())
    await simulation.delay(quick())
    const token = input.sessionToken ?? ""
    const session = sessions.get(token)
    let message: Message
    if (name === "GetSessionAndUser") {
      if (!session?.isThere) {
        await simulation.delay(quick())
        throw new ConnectError("no such session", Code.NotFound)
      }
      message = create(GetSessionAndUserResponseSchema, {
        session: wireOf(session),
        user: { id: session.userId, extra: { version: users.get(session.userId) as number } },
      })
    } else if (name === "UpdateSession") {
      if (!session?.isThere) throw new ConnectError("no such session", Code.NotFound)
      changed(token, session.version++)
      commit([sessionKey(session.id)])
      message = create(UpdateSessionResponseSchema, { session: wireOf(session) })
    } else if (name === "UpdateUser") {
      const id = input.id as string
      const version = users.get(id) as number
      changed(id, version)
      users.set(id, version + 1)
      commit([userKey(id)])
      message = create(UpdateUserResponseSchema, { user: { id, extra: { version: version + 1 } } })
    } else {
      const gone = [...sessions.values()].filter(
        (one) => one.isThere && (one.token === token || one.userId === input.userId),
      )
      for (const one of gone) {
        one.isThere = false
        changed(one.token, one.version)
      }
      if (gone.length > 0) commit(input.userId ? [userKey(input.userId)] : gone.map(({ id }) => sessionKey(id)))
      const dead = [...sessions.values()].filter(
        (one) => !one.isThere && (one.token === token || one.userId === input.userId),
      )
      if (input.awaitCaches) {
        const readRows = async () => {
          await simulation.delay(quick())
          const own = [...rows.values()].filter(({ tenant }) => tenant === "default")
          const found = fault.noRows ? [] : own.filter(({ expires }) => expires > simulation.time)
          const copy = found.map((row) => ({ ...row }))
          await simulation.delay(quick())
          return copy
        }
        const { process, feed } = there
        const pause = (ms: number) => new Promise<void>((resolve) => process.after(ms, resolve))
        const reach = () => feed.reach("default")
        await process.see(
          cachesConfirmed({ reach, rows: () => process.see(readRows()), now: process.now, pause }, undefined),
        )
        acks++
        for (const { token } of dead) if (!acknowledged.has(token)) acknowledged.set(token, simulation.time)
      }
      message =
        name === "DeleteSession"
          ? create(DeleteSessionResponseSchema, { session: session && wireOf(session) })
          : create(RevokeUserSessionsResponseSchema, { revoked: BigInt(gone.length) })
    }
    await simulation.delay(quick())
    return { stream: false, message }
  }

  const clients = Array.from({ length: 3 }, client)

  /** A client of another tenant, in which much happens: it has the longest lease renewed on and on, and never confirms. */
  function stubborn({ process, hubs }: Replica): void {
    const first = { maxStaleMs: 10_000, nonce: 1n, confirmed: 0n, done: false }
    const stream = hubs.open(
      { tenant: "other", key: "other" },
      {
        ready: () =>
          process.after(1, () => {
            const news = stream.take()
            if (news !== undefined && news.nonce > 0n) stream.receive({ ...first, nonce: news.nonce + 1n })
          }),
        fail: () => {},
      },
    )
    stream.receive(first)
  }
  if (simulation.chance(0.5)) for (const one of replicas) stubborn(one)
  const elsewhere = () => {
    commit(["elsewhere"], "other")
    simulation.after(simulation.between(50, 1_000), elsewhere)
  }
  elsewhere()

  /** Asks the cache as getSessionAndUser does, and holds what it says against what is true. */
  function read(one: Client, token: string): void {
    const { kept } = one.adapter as unknown as {
      kept: (token: string) => { session: object; user: object } | undefined
    }
    const found = kept(token)
    if (found === undefined) {
      one.adapter.getSessionAndUser(token).catch(() => {})
      return
    }
    one.follower.used()
    hits++
    const { version } = found.session as { version: number }
    const user = found.user as { id: string; version: number }
    const at = simulation.time
    for (const [name, known] of [[token, version] as const, [user.id, user.version] as const]) {
      const end = (truths.get(name) as Truth).endOf[known]
      if (end !== undefined && at - end > maxStaleMs / 0.992)
        broken.push(`${name} was read ${Math.round(at - end)} ms after it had changed`)
      if ((one.written.get(name) ?? 0) > known) broken.push(`${name} was read as it was before an own write`)
    }
    const ack = acknowledged.get(token)
    if (ack !== undefined) broken.push(`${token} was read ${Math.round(at - ack)} ms after its end was acknowledged`)
    if (one.written.get(`gone ${token}`)) broken.push(`${token} was read after its end by the same client`)
  }

  function write(one: Client): void {
    const calls = createClient(SessionService, one.transport)
    const sessionToken = `t${Math.floor(random() * 5)}`
    const awaitCaches = simulation.chance(0.6)
    const isGone = () => one.written.set(`gone ${sessionToken}`, 1)
    const kind = random()
    if (kind < 0.4)
      calls.updateSession({ sessionToken, updateMask: { paths: ["extra"] } }).then(
        ({ session }) => one.written.set(sessionToken, session?.extra?.version as number),
        () => {},
      )
    else if (kind < 0.65) {
      const id = `u${Math.floor(random() * 3)}`
      createClient(UserService, one.transport)
        .updateUser({ id })
        .then(({ user }) => one.written.set(id, user?.extra?.version as number))
        .catch(() => {})
    } else if (kind < 0.9) calls.deleteSession({ sessionToken, awaitCaches }).then(isGone, () => {})
    else calls.revokeUserSessions({ userId: `u${Math.floor(random() * 3)}`, awaitCaches }).catch(() => {})
  }

  const length = 6_000
  for (const one of clients) {
    const reading = () => {
      one.process.do(() => read(one, `t${Math.floor(random() * 5)}`))
      simulation.after(simulation.between(5, 120), reading)
    }
    simulation.after(simulation.between(0, 50), reading)
  }
  const writing = () => {
    const one = pick(clients)
    one.process.do(() => write(one))
    simulation.after(simulation.between(100, 2_000), writing)
  }
  simulation.after(simulation.between(300, 1_500), writing)
  const failing = () => {
    const kind = random()
    const open = [...connections]
    if (kind < 0.3 && open.length > 0) {
      const one = pick(open)
      // One stream, or all of its replica: then the replica lets go of its hub when their leases are over.
      const cut = simulation.chance(0.5) ? [one] : open.filter(({ replica }) => replica === one.replica)
      for (const connection of cut) {
        connections.delete(connection)
        connection.cut()
      }
    } else if (kind < 0.6) {
      const one = pick(clients)
      const ms = simulation.between(20, 2_500)
      // Frozen as it is about to read: it does so before anything that has come meanwhile.
      one.process.freeze(ms)
      one.process.do(() => {
        for (let n = 0; n < 5; n++) read(one, `t${n}`)
      })
    } else if (kind < 0.8) pick(replicas).process.freeze(simulation.between(20, 2_500))
    else if (kind < 0.87 && living().length > 1) {
      const dead = pick(living())
      dead.process.kill()
      for (const connection of open) if (connection.replica === dead) connection.cut()
      replicas.push(replica(`${dead.name}'`))
    }
    simulation.after(simulation.between(200, 2_500), failing)
  }
  simulation.after(simulation.between(200, 2_000), failing)

  await simulation.run(length)
  return { broken, hits, acks, again }
}

function wireOf({ token, id, userId, version }: Stored) {
  return { sessionToken: token, id, userId, expires: timestampFromMs(1_000_000_000_000), extra: { version } }
}
