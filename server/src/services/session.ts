import type { SessionService } from "@authwire/proto"
import { timestampFromDate } from "@bufbuild/protobuf/wkt"
import { requireScope } from "../auth/scopes.js"
import type { Implementation } from "../rpc/call.js"
import type { SessionStore } from "../store/store.js"
import {
  fromSession,
  toKeptSessions,
  toSession,
  toSessionCountFilter,
  toSessionExtension,
  toSessionFilter,
  toSessionOrigin,
  toSessionPatch,
} from "./wire/session.js"
import { fromUserWithoutEtag } from "./wire/user.js"
import { found, required, toDate, toPage } from "./wire/values.js"

/** Creates the service for the sessions of the store. */
export function sessionService({ sessions }: { sessions: SessionStore }): Implementation<typeof SessionService> {
  return {
    async createSession(request, call) {
      return { session: fromSession(await sessions.create(call, toSession(request), toSessionOrigin(request))) }
    },
    async getSessionAndUser(request, call) {
      const { session, user } = found(await sessions.getWithUser(call, request.sessionToken), "SESSION_NOT_FOUND")
      return { session: fromSession(session), user: fromUserWithoutEtag(user) }
    },
    async updateSession(request, call) {
      const session = await sessions.update(call, request.sessionToken, toSessionPatch(request))
      return { session: fromSession(found(session, "SESSION_NOT_FOUND")) }
    },
    async deleteSession(request, call) {
      return { session: fromSession(found(await sessions.delete(call, request.sessionToken), "SESSION_NOT_FOUND")) }
    },
    async accessSession(request, call) {
      requireScope(call.identity, "sessions:read")
      const extension = toSessionExtension(required(request.extend, "extend"))
      const accessed = await sessions.access(call, request.sessionToken, extension)
      call.hasWritten = accessed?.extended ?? false
      const { session, user, extended } = found(accessed, "SESSION_NOT_FOUND")
      return { session: fromSession(session), user: fromUserWithoutEtag(user), extended }
    },
    async listSessions(request, call) {
      if (request.allUsers) requireScope(call.identity, "users:read")
      const { items, nextToken } = await sessions.list(call, toSessionFilter(request), toPage(request))
      return { sessions: items.map(fromSession), nextPageToken: nextToken ?? "" }
    },
    async countSessions(request, call) {
      return { count: await sessions.count(call, toSessionCountFilter(request)) }
    },
    async getSession(request, call) {
      return { session: fromSession(found(await sessions.get(call, request.id), "SESSION_NOT_FOUND")) }
    },
    async revokeSession(request, call) {
      const session = await sessions.revoke(call, request.id, request.userId)
      return { session: session === null ? undefined : fromSession(session) }
    },
    async revokeUserSessions(request, call) {
      return { revoked: BigInt(await sessions.revokeOfUser(call, request.userId, toKeptSessions(request))) }
    },
    async revokeAllSessions(request, call) {
      const { createdBefore, provider } = request
      const before = await sessions.revokeAll(call, {
        createdBefore: createdBefore && toDate(createdBefore, "created_before"),
        provider,
      })
      return { createdBefore: timestampFromDate(before) }
    },
    async revokeSessions({ userIds }, call) {
      const { processed, revoked } = await sessions.revokeOfUsers(call, userIds)
      return { processed, more: processed < userIds.length, revoked: BigInt(revoked) }
    },
  }
}
