import {
  type AccessSessionResponse,
  AccountService,
  type GetSessionAndUserResponse,
  type Session,
  SessionService,
  type User,
  UserService,
} from "@authwire/proto/slim"
import type { DescMethod } from "@bufbuild/protobuf"
import type { Transport } from "@connectrpc/connect"
import type { AuthwireAdapterMethods } from "../adapter/adapter.js"
import * as convert from "../adapter/convert.js"
import type { SessionAgeOptions } from "../adapter/session-access.js"
import type { Answer, SessionCache } from "./cache.js"
import { sessionKey, userKey } from "./keys.js"
import type { SharedCache } from "./shared.js"

/** What the messages of these methods say of sessions and users, as far as they say it. */
interface Named {
  sessionToken?: string
  id?: string
  userId?: string
  userIds?: readonly string[]
  session?: Session
  user?: User
  account?: { userId: string }
}

type Touch = (cache: SessionCache, message: Named) => void

const dropUser = (cache: SessionCache, id: string | undefined) => {
  if (id) cache.drop([userKey(id)])
}
const dropSession: Touch = (cache, { sessionToken, session }) => {
  if (sessionToken) cache.dropToken(sessionToken)
  if (session?.id) cache.drop([sessionKey(session.id)])
}

/** What a client of this cache changes by its own calls: as requests and answers name it. */
const writes = new Map<DescMethod, Touch>([
  [SessionService.method.createSession, dropSession],
  [SessionService.method.updateSession, dropSession],
  [SessionService.method.deleteSession, dropSession],
  [SessionService.method.revokeSession, (cache, { id }) => id && cache.drop([sessionKey(id)])],
  [SessionService.method.revokeUserSessions, (cache, { userId }) => dropUser(cache, userId)],
  [SessionService.method.revokeSessions, (cache, { userIds = [] }) => cache.drop(userIds.map(userKey))],
  [UserService.method.updateUser, (cache, { id, user }) => dropUser(cache, id ?? user?.id)],
  [UserService.method.deleteUser, (cache, { id, user }) => dropUser(cache, id ?? user?.id)],
  [AccountService.method.linkAccount, (cache, { userId, account }) => dropUser(cache, userId ?? account?.userId)],
  // Whose account it is only the answer says; with `revoke_sessions` the user's sessions end.
  [
    AccountService.method.unlinkAccount,
    (cache, { account }) => (account ? dropUser(cache, account.userId) : cache.clear()),
  ],
])

const reads: ReadonlySet<DescMethod> = new Set([
  SessionService.method.getSessionAndUser,
  SessionService.method.accessSession,
])

export interface CachingOptions {
  cache: SessionCache
  /** Somebody reads sessions. */
  used: () => void
  /** The header of the client: calls with another one may be those of another tenant. Default: all are the client's own. */
  header?: Headers | undefined
}

/** A transport that fills a cache with the sessions that it reads, and takes out of it what it writes. */
export function cachingTransport(inner: Transport, { cache, used, header }: CachingOptions): Transport {
  return {
    unary(method, signal, timeoutMs, callHeader, input, contextValues) {
      const call = () => inner.unary(method, signal, timeoutMs, callHeader, input, contextValues)
      if (reads.has(method)) {
        if (header !== undefined && callHeader !== header) return call()
        used()
        const mark = cache.beginRead()
        return call().then(
          (response) => {
            const { extended } = response.message as Partial<AccessSessionResponse>
            // What this very call has written will be told of: it would not be kept for long.
            if (extended) dropSession(cache, input as Named)
            else cache.keep(mark, answerOf(response.message as GetSessionAndUserResponse))
            return response
          },
          (error: unknown) => {
            dropSession(cache, input as Named)
            throw error
          },
        )
      }
      const touch = writes.get(method)
      if (touch === undefined) return call()
      const request = input as Named
      touch(cache, request)
      return call().then(
        (response) => {
          touch(cache, request)
          touch(cache, response.message as unknown as Named)
          return response
        },
        (error: unknown) => {
          touch(cache, request)
          throw error
        },
      )
    },
    stream: (...call) => inner.stream(...call),
  }
}

/** Undefined for what cannot be kept: nobody could say that it has changed. */
function answerOf({ session, user }: GetSessionAndUserResponse): Answer | undefined {
  if (session === undefined || session.id === "" || user === undefined) return undefined
  return {
    session: convert.sessionFromWire(session),
    user: convert.userFromWire(user),
    keys: [sessionKey(session.id), userKey(user.id)],
  }
}

/**
 * The adapter, with sessions from a cache.
 *
 * @param ages - With them a session that is due to be extended is not taken from the cache.
 */
export function cachedAdapter(
  adapter: AuthwireAdapterMethods,
  shared: Pick<SharedCache, "cache" | "used" | "hasLeft">,
  ages: SessionAgeOptions | undefined,
): AuthwireAdapterMethods {
  const { maxAge = 2_592_000, updateAge = 86_400 } = ages ?? {}
  const freshMs = ages === undefined ? Number.NEGATIVE_INFINITY : (maxAge - updateAge) * 1000
  return {
    ...adapter,
    getSessionAndUser(sessionToken) {
      // A client that is closed fails its calls.
      const kept = shared.hasLeft ? undefined : shared.cache.get(sessionToken)
      if (kept === undefined || kept.session.expires.getTime() - freshMs <= Date.now())
        return adapter.getSessionAndUser(sessionToken)
      shared.used()
      return Promise.resolve(kept)
    },
  }
}
