import type { SessionPolicyService } from "@authwire/proto"
import type { Implementation } from "../rpc/call.js"
import type { SessionPolicyStore } from "../store/store.js"
import { fromSessionPolicy, toSessionPolicyPatch } from "./wire/session-policy.js"

/** Creates the service for the session policies of the store. */
export function sessionPolicyService({
  sessionPolicies,
}: {
  sessionPolicies: SessionPolicyStore
}): Implementation<typeof SessionPolicyService> {
  return {
    async getSessionPolicy(_request, call) {
      return { policy: fromSessionPolicy(await sessionPolicies.get(call)) }
    },
    async updateSessionPolicy(request, call) {
      const { etag } = request
      return { policy: fromSessionPolicy(await sessionPolicies.update(call, toSessionPolicyPatch(request), { etag })) }
    },
  }
}
