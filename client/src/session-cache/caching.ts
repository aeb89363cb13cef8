import { createHash } from "node:crypto"
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
import type { AuthwireAdapterMethods } from "../adapter/adapter.js"
import * as convert from "../adapter/convert.js"
import type { SessionAgeOptions } from "../adapter/session-access.js"
import type { Layer } from "../transport/layer.js"
import type { Shared } from "../transport/shared.js"
import type { Answer, SessionCache } from "./cache.js"
import type { FollowedCache } from "./shared.js"

/** The fields of requests and responses that identify a session or a user. Each message has only some of them. */
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

/** The methods that change sessions or users, and what they evict, for the request and for the response. */
const writes = new Map<DescMethod, Touch>([
  [SessionService.method.createSession, dropSession],
  [SessionService.method.updateSession, dropSession],
  [SessionService.method.deleteSession, dropSession],
  [SessionService.method.revokeSession, (cache, { id }) => id && cache.drop([sessionKey(id)])],
  [SessionService.method.revokeUserSessions, (cache, { userId }) => dropUser(cache, userId)],
  [SessionService.method.revokeSessions, (cache, { userIds = [] }) => cache.drop(userIds.map(userKey))],
  [SessionService.method.revokeAllSessions, (cache) => cache.clear()],
  [UserService.method.updateUser, (cache, { id, user }) => dropUser(cache, id ?? user?.id)],
  [UserService.method.disableUser, (cache, { id }) => dropUser(cache, id)],
  [UserService.method.deleteUser, (cache, { id, user }) => dropUser(cache, id ?? user?.id)],
  [AccountService.method.linkAccount, (cache, { userId, account }) => dropUser(cache, userId ?? account?.userId)],
  // Only the response names the user of the account, so the request clears the cache. With `revoke_sessions` the user's
  // sessions end.
  [
    AccountService.method.unlinkAccount,
    (cache, { account }) => (account ? dropUser(cache, account.userId) : cache.clear()),
  ],
])

const reads: ReadonlySet<DescMethod> = new Set([
  SessionService.method.getSessionAndUser,
  SessionService.method.accessSession,
])

type SharedCache = Pick<Shared<Pick<FollowedCache, "cache" | "used">>, "use" | "opened" | "hasLeft">

/** Returns the cache for a read of a session. */
function cacheOf(shared: SharedCache): SessionCache {
  const { cache, used } = shared.use()
  used()
  return cache
}

/**
 * Caches the sessions that calls read, and evicts the sessions and users that they change. Reads with headers of their
 * own bypass the cache, because they may belong to another tenant.
 */
export function caching(shared: SharedCache): Layer {
  /** Evicts the sessions and users that a message names. Another client may have opened the cache since the last call. */
  function evict(touch: Touch, message: Named): void {
    if (shared.opened !== undefined) touch(shared.opened.cache, message)
  }

  return (next) => (method, signal, timeoutMs, header, input, contextValues) => {
    const call = () => next(method, signal, timeoutMs, header, input, contextValues)
    if (reads.has(method)) {
      if (shared.hasLeft || header !== undefined) return call()
      const cache = cacheOf(shared)
      const mark = cache.beginRead()
      return call().then(
        (response) => {
          const { extended } = response.message as Partial<AccessSessionResponse>
          // The call has extended the session. The service will announce this change, so an entry would soon be
          // evicted.
          if (extended) evict(dropSession, input as Named)
          else cache.keep(mark, answerOf(response.message as GetSessionAndUserResponse))
          return response
        },
        (error: unknown) => {
          evict(dropSession, input as Named)
          throw error
        },
      )
    }
    const touch = writes.get(method)
    if (touch === undefined) return call()
    const request = input as Named
    evict(touch, request)
    return call().then(
      (response) => {
        evict(touch, request)
        evict(touch, response.message as unknown as Named)
        return response
      },
      (error: unknown) => {
        evict(touch, request)
        throw error
      },
    )
  }
}

/** Converts a response to a cache entry; undefined without a session id or a user, whose changes no key has. */
function answerOf({ session, user }: GetSessionAndUserResponse): Answer | undefined {
  if (session === undefined || session.id === "" || user === undefined) return undefined
  return {
    session: convert.sessionFromWire(session),
    user: convert.userFromWire(user),
    keys: [sessionKey(session.id), userKey(user.id)],
  }
}

/**
 * Creates an adapter that answers getSessionAndUser from a cache.
 *
 * @param ages - The ages of sessions. If they are given, a session that is due for extension is not taken from the
 * cache.
 */
export function cachedAdapter(
  adapter: AuthwireAdapterMethods,
  shared: SharedCache,
  ages: SessionAgeOptions | undefined,
): AuthwireAdapterMethods {
  const { maxAge = 2_592_000, updateAge = 86_400 } = ages ?? {}
  const freshMs = ages === undefined ? Number.NEGATIVE_INFINITY : (maxAge - updateAge) * 1000
  return {
    ...adapter,
    getSessionAndUser(sessionToken) {
      // A closed client must fail its calls, so it does not use the cache.
      const kept = shared.hasLeft ? undefined : cacheOf(shared).get(sessionToken)
      if (kept === undefined || kept.session.expires.getTime() - freshMs <= Date.now())
        return adapter.getSessionAndUser(sessionToken)
      return Promise.resolve(kept)
    },
  }
}

/** Returns the key by which the service announces a change of a session; see FollowResponse.keys. */
export function sessionKey(id: string): string {
  return keyOf(`s${id}`)
}

/** Returns the key by which the service announces a change of a user, which affects all sessions of the user. */
export function userKey(id: string): string {
  return keyOf(`u${id}`)
}

function keyOf(text: string): string {
  return createHash("sha256").update(text).digest("base64url").slice(0, 16)
}
