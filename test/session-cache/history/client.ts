import { SessionService, UserService } from "@authwire/proto/slim"
import { createClient, type Transport } from "@connectrpc/connect"
import type { AuthwireAdapterMethods } from "../../../client/src/adapter/adapter.js"
import { sessionFromWire, userFromWire } from "../../../client/src/adapter/convert.js"
import { sessionCache } from "../../../client/src/session-cache/cache.js"
import { cachedAdapter, caching } from "../../../client/src/session-cache/caching.js"
import { follower } from "../../../client/src/session-cache/follower.js"
import { layered } from "../../../client/src/transport/layer.js"
import { Process, type Simulation } from "../simulation.js"
import { tokens, tokensOf, userIds } from "./database.js"
import type { Network } from "./network.js"
import type { Service } from "./service.js"

export interface ClientOptions {
  simulation: Simulation
  network: Network
  service: Service
  maxStaleMs: number
}

export interface ClientFault {
  /** The clock with which a client checks the end of its lease stands still. */
  noLease?: boolean
  /** Responses are cached even if an invalidation arrived while they were in flight. */
  noMarks?: boolean
}

/** A token or user id, and a version of that session or user. */
export type Known = readonly [name: string, version: number]

/** A process of an application. */
export interface Client {
  process: Process
  /** Reads a session and its user as getSessionAndUser does. Undefined if they were not in the cache. */
  read(token: string): readonly Known[] | undefined
  /** Calls one of the methods that write, at random. */
  write(): void
  /** The versions whose write was confirmed to the client, by token or user id. */
  readonly written: ReadonlyMap<string, number>
  /** The tokens of the sessions whose deletion was confirmed to the client. */
  readonly deleted: ReadonlySet<string>
}

/** A client whose cache, follower, transport and adapter are those of the package. */
export function startClient({ simulation, network, service, maxStaleMs }: ClientOptions, fault: ClientFault): Client {
  const process = new Process(simulation)
  const cache = sessionCache({
    size: simulation.pick([2, 100]),
    now: fault.noLease ? () => 0 : process.elapsed,
    timeOfDay: () => 0,
  })
  if (fault.noMarks) {
    const { keep } = cache
    cache.keep = (mark, answer) => keep(mark && cache.beginRead(), answer)
  }
  const { used } = follower({
    cache,
    maxStaleMs,
    now: process.elapsed,
    after: process.after,
    connect: (events) => network.connect(process, events),
    random: simulation.random,
    uncachedReads: { used() {}, over() {} },
  })
  const unary = (...[method, , , , input]: Parameters<Transport["unary"]>) =>
    process.see(service.serve(method.name, input as never))
  const opened = { cache, used }
  const shared = { use: () => opened, opened, hasLeft: false }
  const transport = layered([caching(shared)], { unary } as unknown as Transport)
  const sessions = createClient(SessionService, transport)
  const users = createClient(UserService, transport)
  const uncached = {
    async getSessionAndUser(sessionToken: string) {
      const { session, user } = await sessions.getSessionAndUser({ sessionToken })
      return { session: sessionFromWire(session), user: userFromWire(user) }
    },
  } as AuthwireAdapterMethods
  const adapter = cachedAdapter(uncached, shared, undefined)

  function read(token: string): readonly Known[] | undefined {
    const kept = cache.get(token) as { session: object; user: object } | undefined
    if (kept === undefined) {
      adapter.getSessionAndUser(token).catch(() => {})
      return undefined
    }
    used()
    const session = kept.session as { version: number }
    const user = kept.user as { id: string; version: number }
    return [
      [token, session.version],
      [user.id, user.version],
    ]
  }

  const written = new Map<string, number>()
  const deleted = new Set<string>()
  function write(): void {
    const sessionToken = simulation.pick(tokens)
    const awaitCaches = simulation.chance(0.6)
    const kind = simulation.random()
    // Nothing is left to read afterwards, so that it ends only some histories, late.
    if (simulation.time > 3_000 && simulation.chance(0.05)) {
      // The operator changes the policy with another client.
      if (simulation.chance(0.5)) process.see(service.serve("UpdateSessionPolicy", { awaitCaches })).catch(() => {})
      else
        sessions.revokeAllSessions({ awaitCaches }).then(
          () => {
            for (const token of tokens) deleted.add(token)
          },
          () => {},
        )
      return
    }
    if (kind < 0.4)
      sessions.updateSession({ sessionToken, updateMask: { paths: ["extra"] } }).then(
        ({ session }) => written.set(sessionToken, session?.extra?.version as number),
        () => {},
      )
    else if (kind < 0.65) {
      const id = simulation.pick(userIds)
      users
        .updateUser({ id })
        .then(({ user }) => written.set(id, user?.extra?.version as number))
        .catch(() => {})
    } else if (kind < 0.9)
      sessions.deleteSession({ sessionToken, awaitCaches }).then(
        () => deleted.add(sessionToken),
        () => {},
      )
    else if (kind < 0.94) sessions.revokeUserSessions({ userId: simulation.pick(userIds), awaitCaches }).catch(() => {})
    else if (kind < 0.97) {
      const id = simulation.pick(userIds)
      users.disableUser({ id, awaitCaches }).then(
        () => {
          for (const token of tokensOf(id)) deleted.add(token)
        },
        () => {},
      )
    } else users.enableUser({ id: simulation.pick(userIds) }).catch(() => {})
  }

  return { process, read, write, written, deleted }
}
