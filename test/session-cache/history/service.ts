import {
  DeleteSessionResponseSchema,
  GetSessionAndUserResponseSchema,
  RevokeUserSessionsResponseSchema,
  UpdateSessionResponseSchema,
  UpdateUserResponseSchema,
} from "@authwire/proto/slim"
import { create, type Message } from "@bufbuild/protobuf"
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { Code, ConnectError } from "@connectrpc/connect"
import { sessionKey, userKey } from "../../../client/src/session-cache/keys.js"
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
  /** `await_caches` asks for no rows. */
  noRows?: boolean
}

/** A request of any of the methods. */
interface AnyRequest {
  sessionToken?: string
  id?: string
  userId?: string
  awaitCaches?: boolean
}

export interface Service {
  /** Answers a call of the method, as a transport does. */
  serve(method: string, request: AnyRequest): Promise<unknown>
  /** Revocations that were acknowledged after they had waited for the caches. */
  readonly acks: number
}

/** The calls of the service, each answered by one of the living replicas. */
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

  /** What the calls of a replica that wait have in common. */
  const awaiting = new WeakMap<Replica, Confirmed>()

  function awaitCaches(replica: Replica): Promise<void> {
    const { process, feed } = replica
    const rows = () => process.see(readRows())
    const pause = (ms: number) => new Promise<void>((resolve) => process.after(ms, resolve))
    const confirmed = awaiting.get(replica) ?? cachesConfirmed({ reach: feed.reach, rows, now: process.now, pause })
    awaiting.set(replica, confirmed)
    return process.see(confirmed(clientTenant, new AbortController().signal))
  }

  /** A call of the service: its statement is one moment. */
  async function serve(
    method: string,
    { sessionToken = "", id = "", userId, ...request }: AnyRequest,
  ): Promise<unknown> {
    const replica = simulation.pick(living(replicas))
    await simulation.delay(latency())
    const session = database.sessions.get(sessionToken)
    let message: Message | undefined
    if (method === "GetSessionAndUser") {
      if (session?.isThere) {
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
