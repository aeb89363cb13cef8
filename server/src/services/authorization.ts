import type { Authorization } from "@authwire/proto/envoy"
import { decide } from "../gateway/decision.js"
import { fromCheckRequest, toCheckResponse } from "../gateway/ext-authz.js"
import { readPolicy } from "../gateway/policy.js"
import { findRequestSession, type RequestSessionDeps } from "../introspection/request-session.js"
import type { Implementation } from "../rpc/call.js"

/** Creates the service that authorizes a gateway's requests by Envoy's protocol; `GET /v1/authorize` calls it. */
export function authorizationService(deps: RequestSessionDeps): Implementation<typeof Authorization> {
  return {
    async check(message, caller) {
      const { request, settings } = fromCheckRequest(message)
      const policy = readPolicy(settings, caller.tenant)
      const session = await findRequestSession(deps, caller, { get: request.header }, policy.session)
      return toCheckResponse(decide(policy, request, session))
    },
  }
}
