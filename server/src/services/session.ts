import type { SessionService } from "@authwire/proto"
import { timestampFromDate } from "@bufbuild/protobuf/wkt"
import { requireScope } from "../auth/scopes.js"
import type { Implementation } from "../rpc/call.js"
import type { LogoutUrls } from "../signals/logout-url.js"
import type { SessionStore } from "../store/store.js"
import {
  fromSession,
  toKeptSessions,
  toSession,
  toSessionCountFilter,
  toSessionExtension,
  toSessionFilter,
  toSessionMetadata,
  toSessionPatch,
} from "./wire/session.js"
import { fromUserWithoutEtag } from "./wire/user.js"
import { found, required, toDate, toPage } from "./wire/values.js"

/** Creates the service for the sessions of the store, and for their ends at providers. */
export function sessionService(deps: {
  sessions: SessionStore
  logoutUrls: LogoutUrls
}): Implementation<typeof SessionService> {
  const { sessions, logoutUrls } = deps
  return {
    async createSession(request, caller) {
      return { session: fromSession(await sessions.create(caller, toSession(request), toSessionMetadata(request))) }
    },
    async getSessionAndUser(request, caller) {
      const { session, user } = found(await sessions.getWithUser(caller, request.sessionToken), "SESSION_NOT_FOUND")
      return { session: fromSession(session), user: fromUserWithoutEtag(user) }
    },
    async updateSession(request, caller) {
      const session = await sessions.update(caller, request.sessionToken, toSessionPatch(request))
      return { session: fromSession(found(session, "SESSION_NOT_FOUND")) }
    },
    async deleteSession(request, caller) {
      return { session: fromSession(found(await sessions.delete(caller, request.sessionToken), "SESSION_NOT_FOUND")) }
    },
    async accessSession(request, caller, call) {
      requireScope(call.identity, "sessions:read")
      const extension = toSessionExtension(required(request.extend, "extend"))
      const accessed = await sessions.access(caller, request.sessionToken, extension)
      call.hasWritten = accessed?.extended ?? false
      const { session, user, extended } = found(accessed, "SESSION_NOT_FOUND")
      return { session: fromSession(session), user: fromUserWithoutEtag(user), extended }
    },
    async listSessions(request, caller, call) {
      if (request.allUsers) requireScope(call.identity, "users:read")
      const { items, nextToken } = await sessions.list(caller, toSessionFilter(request), toPage(request))
      return { sessions: items.map(fromSession), nextPageToken: nextToken ?? "" }
    },
    async countSessions(request, caller) {
      return { count: await sessions.count(caller, toSessionCountFilter(request)) }
    },
    async getSession(request, caller) {
      return { session: fromSession(found(await sessions.get(caller, request.id), "SESSION_NOT_FOUND")) }
    },
    async getLogoutUrl({ sessionToken, signIn, postLogoutRedirectUri }, caller, call) {
      requireScope(call.identity, "accounts:read")
      // A provider that is slow must not keep other calls waiting.
      const waits = () => call.leaveLimit()
      return { url: await logoutUrls.of(caller, signIn ?? { sessionToken }, postLogoutRedirectUri, waits) }
    },
    async revokeSession(request, caller) {
      const session = await sessions.revoke(caller, request.id, request.userId)
      return { session: session === null ? undefined : fromSession(session) }
    },
    async revokeUserSessions(request, caller) {
      return { revoked: BigInt(await sessions.revokeOfUser(caller, request.userId, toKeptSessions(request))) }
    },
    async revokeAllSessions(request, caller) {
      const { createdBefore, provider } = request
      const before = await sessions.revokeAll(caller, {
        createdBefore: createdBefore && toDate(createdBefore, "created_before"),
        provider,
      })
      return { createdBefore: timestampFromDate(before) }
    },
    async revokeSessions({ userIds }, caller) {
      const { processed, revoked } = await sessions.revokeOfUsers(caller, userIds)
      return { processed, more: processed < userIds.length, revoked: BigInt(revoked) }
    },
  }
}
