import type { SessionPolicyService } from "@authwire/proto"
import type { Implementation } from "../rpc/call.js"
import type { Store } from "../store/store.js"
import { fromSessionPolicy, toSessionPolicyPatch } from "./wire/session-policy.js"

/** Creates the service for the session policies of the store. */
export function sessionPolicyService({
  sessionPolicies: policies,
}: Pick<Store, "sessionPolicies">): Implementation<typeof SessionPolicyService> {
  return {
    async getSessionPolicy(_request, caller) {
      return { policy: fromSessionPolicy(await policies.get(caller)) }
    },
    async updateSessionPolicy(request, caller) {
      const { etag } = request
      return { policy: fromSessionPolicy(await policies.update(caller, toSessionPolicyPatch(request), { etag })) }
    },
  }
}
