import type { PrivateExtraService } from "@authwire/proto"
import type { Implementation } from "../rpc/call.js"
import type { UserStore } from "../store/store.js"
import { found, fromExtra } from "./wire/values.js"

/** Creates the service for the private properties of the users of the store. */
export function privateExtraService({ users }: { users: UserStore }): Implementation<typeof PrivateExtraService> {
  return {
    async getPrivateExtra(request, caller) {
      const extra = found(await users.getPrivateExtra(caller, request.userId), "USER_NOT_FOUND")
      return { privateExtra: fromExtra(extra) }
    },
  }
}
