import type { UserService } from "@authwire/proto"
import { requireScope } from "../auth/scopes.js"
import type { Implementation } from "../rpc/call.js"
import type { Store } from "../store/store.js"
import { userExport } from "./user-export.js"
import { fromUser, toCountFilter, toDisabled, toUser, toUserFilter, toUserPatch } from "./wire/user.js"
import { found, toPage } from "./wire/values.js"

/** Creates the service for the users of the store. `newId` generates the id of a user that is created without one. */
export function userService(store: Store, newId: () => string): Implementation<typeof UserService> {
  const { users } = store
  return {
    async createUser(request, call) {
      const { id = newId(), provisional } = request
      return { user: fromUser(await users.create(call, toUser(request, id), { provisional })) }
    },
    async getUser(request, call) {
      return { user: fromUser(found(await users.get(call, request.id), "USER_NOT_FOUND")) }
    },
    async getUserByEmail(request, call) {
      return { user: fromUser(found(await users.getByEmail(call, request.email), "USER_NOT_FOUND")) }
    },
    async getUserByAccount(request, call) {
      return { user: fromUser(found(await users.getByAccount(call, request), "USER_NOT_FOUND")) }
    },
    async updateUser(request, call) {
      const { revokeSessionsOnEmailChange, etag } = request
      if (revokeSessionsOnEmailChange) requireScope(call.identity, "sessions:write")
      const updated = await users.update(call, request.id, toUserPatch(request), { revokeSessionsOnEmailChange, etag })
      const { revokedSessions = 0, ...user } = found(updated, "USER_NOT_FOUND")
      return { user: fromUser(user), revokedSessions: BigInt(revokedSessions) }
    },
    async deleteUser(request, call) {
      return { user: fromUser(found(await users.delete(call, request.id), "USER_NOT_FOUND")) }
    },
    async disableUser(request, call) {
      const disabled = await users.disable(call, request.id, toDisabled(request))
      const { revokedSessions = 0, ...user } = found(disabled, "USER_NOT_FOUND")
      return { user: fromUser(user), revokedSessions: BigInt(revokedSessions) }
    },
    async enableUser(request, call) {
      return { user: fromUser(found(await users.enable(call, request.id), "USER_NOT_FOUND")) }
    },
    async listUsers(request, call) {
      const { items, nextToken } = await users.list(call, toUserFilter(request), toPage(request))
      return { users: items.map(fromUser), nextPageToken: nextToken ?? "" }
    },
    async batchGetUsers({ ids }, call) {
      const found = await users.getMany(call, ids)
      return {
        users: found.flatMap((user) => (user === null ? [] : fromUser(user))),
        missingIds: ids.filter((_, index) => found[index] === null),
        processed: found.length,
        more: found.length < ids.length,
      }
    },
    async countUsers(request, call) {
      return { count: await users.count(call, toCountFilter(request)) }
    },
    exportUser: userExport(store),
  }
}
