import {
  DeleteSessionResponseSchema,
  DisableUserResponseSchema,
  EnableUserResponseSchema,
  GetSessionAndUserResponseSchema,
  RevokeAllSessionsResponseSchema,
  RevokeUserSessionsResponseSchema,
  UpdateSessionPolicyResponseSchema,
  UpdateSessionResponseSchema,
  UpdateUserResponseSchema,
} from "@authwire/proto/slim"
import { create, type Message } from "@bufbuild/protobuf"
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { Code, ConnectError } from "@connectrpc/connect"
import { sessionKey, userKey } from "../../../client/src/session-cache/caching.js"
import { type Confirmed, cachesConfirmed } from "../../../server/src/session-cache/awaiting.js"
import type { Simulation } from "../simulation.js"
import { clientTenant, type Database, type StoredSession } from "./database.js"
import { living, type Replica } from "./replica.js"

export interface ServiceOptions {
  simulation: Simulation
  database: Database
  latency: () => number
  replicas: readonly Replica[]
}

export interface ServiceFault {
  /** `await_caches` reads no rows. */
  noRows?: boolean
}

/** The fields of a request of any method. */
interface AnyRequest {
  sessionToken?: string
  id?: string
  userId?: string
  awaitCaches?: boolean
}

export interface Service {
  /** Executes a call of the method, as a transport does. */
  serve(method: string, request: AnyRequest): Promise<unknown>
  /** The number of revocations that were acknowledged after they had waited for the caches. */
  readonly acks: number
}

/** Creates the service, whose calls are each answered by one of the living replicas. */
export function createService(
  { simulation, database, latency, replicas }: ServiceOptions,
  fault: ServiceFault,
): Service {
  let acks = 0

  async function readRows() {
    await simulation.delay(latency())
    const rows = fault.noRows ? [] : database.rowsOf(clientTenant)
    await simulation.delay(latency())
    return rows
  }

  /** The shared state of the waiting calls of a replica. */
  const awaiting = new WeakMap<Replica, Confirmed>()

  function awaitCaches(replica: Replica): Promise<void> {
    const { process, now, feed } = replica
    const reports = () => process.see(readRows())
    const pause = (ms: number) => new Promise<void>((resolve) => process.after(ms, resolve))
    const confirmed = awaiting.get(replica) ?? cachesConfirmed({ reach: feed.reach, reports, now, pause })
    awaiting.set(replica, confirmed)
    return process.see(confirmed(clientTenant, new AbortController().signal))
  }

  /** Executes a call of the service. Its statement takes effect at a single moment. */
  async function serve(
    method: string,
    { sessionToken = "", id = "", userId, ...request }: AnyRequest,
  ): Promise<unknown> {
    const replica = simulation.pick(living(replicas))
    await simulation.delay(latency())
    const session = database.sessions.get(sessionToken)
    let message: Message | undefined
    if (method === "GetSessionAndUser") {
      if (session?.isThere && !database.disabled.has(session.userId)) {
        const version = database.users.get(session.userId) as number
        const user = { id: session.userId, extra: { version } }
        message = create(GetSessionAndUserResponseSchema, { session: wireOf(session), user })
      }
    } else if (method === "UpdateSession") {
      if (!session?.isThere) throw noSuchSession()
      database.updateSession(session)
      message = create(UpdateSessionResponseSchema, { session: wireOf(session) })
    } else if (method === "UpdateUser") {
      const version = database.updateUser(id)
      message = create(UpdateUserResponseSchema, { user: { id, extra: { version } } })
    } else if (method === "DisableUser") {
      database.disableUser(id)
      if (request.awaitCaches) {
        await awaitCaches(replica)
        acks++
        database.acknowledge(database.sessionsOf(id))
      }
      message = create(DisableUserResponseSchema, { user: { id } })
    } else if (method === "RevokeAllSessions" || method === "UpdateSessionPolicy") {
      database.endAll()
      if (request.awaitCaches) {
        await awaitCaches(replica)
        acks++
        database.acknowledge([...database.sessions.values()])
      }
      message =
        method === "RevokeAllSessions"
          ? create(RevokeAllSessionsResponseSchema)
          : create(UpdateSessionPolicyResponseSchema)
    } else if (method === "EnableUser") {
      database.disabled.delete(id)
      message = create(EnableUserResponseSchema, { user: { id } })
    } else {
      // DeleteSession or RevokeUserSessions.
      const meant = [...database.sessions.values()].filter((one) => one.token === sessionToken || one.userId === userId)
      const keys = userId ? [userKey(userId)] : meant.map((one) => sessionKey(one.id))
      const revoked = BigInt(database.deleteSessions(meant, keys))
      if (request.awaitCaches) {
        await awaitCaches(replica)
        acks++
        database.acknowledge(meant)
      }
      message =
        method === "DeleteSession"
          ? create(DeleteSessionResponseSchema, { session: session && wireOf(session) })
          : create(RevokeUserSessionsResponseSchema, { revoked })
    }
    await simulation.delay(latency())
    if (message === undefined) throw noSuchSession()
    return { stream: false, message }
  }

  return {
    serve,
    get acks() {
      return acks
    },
  }
}

function wireOf({ token, id, userId, version }: StoredSession) {
  return { sessionToken: token, id, userId, expires: timestampFromMs(1_000_000_000_000), extra: { version } }
}

function noSuchSession(): ConnectError {
  return new ConnectError("no such session", Code.NotFound)
}
