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
    async createUser(request, caller) {
      const { id = newId(), provisional } = request
      return { user: fromUser(await users.create(caller, toUser(request, id), { provisional })) }
    },
    async getUser(request, caller) {
      return { user: fromUser(found(await users.get(caller, request.id), "USER_NOT_FOUND")) }
    },
    async getUserByEmail(request, caller) {
      return { user: fromUser(found(await users.getByEmail(caller, request.email), "USER_NOT_FOUND")) }
    },
    async getUserByAccount(request, caller) {
      return { user: fromUser(found(await users.getByAccount(caller, request), "USER_NOT_FOUND")) }
    },
    async updateUser(request, caller, call) {
      const { revokeSessionsOnEmailChange, etag } = request
      if (revokeSessionsOnEmailChange) requireScope(call.identity, "sessions:write")
      const updated = await users.update(caller, request.id, toUserPatch(request), {
        revokeSessionsOnEmailChange,
        etag,
      })
      const { revokedSessions = 0, ...user } = found(updated, "USER_NOT_FOUND")
      return { user: fromUser(user), revokedSessions: BigInt(revokedSessions) }
    },
    async deleteUser(request, caller) {
      return { user: fromUser(found(await users.delete(caller, request.id), "USER_NOT_FOUND")) }
    },
    async disableUser(request, caller) {
      const disabled = await users.disable(caller, request.id, toDisabled(request))
      const { revokedSessions = 0, ...user } = found(disabled, "USER_NOT_FOUND")
      return { user: fromUser(user), revokedSessions: BigInt(revokedSessions) }
    },
    async enableUser(request, caller) {
      return { user: fromUser(found(await users.enable(caller, request.id), "USER_NOT_FOUND")) }
    },
    async listUsers(request, caller) {
      const { items, nextToken } = await users.list(caller, toUserFilter(request), toPage(request))
      return { users: items.map(fromUser), nextPageToken: nextToken ?? "" }
    },
    async batchGetUsers({ ids }, caller) {
      const found = await users.getMany(caller, ids)
      return {
        users: found.flatMap((user) => (user === null ? [] : fromUser(user))),
        missingIds: ids.filter((_, index) => found[index] === null),
        processed: found.length,
        more: found.length < ids.length,
      }
    },
    async countUsers(request, caller) {
      return { count: await users.count(caller, toCountFilter(request)) }
    },
    exportUser: userExport(store),
  }
}
