import type { Authorization } from "@authwire/proto/envoy"
import { type Decision, decide, withAssertion } from "../gateway/decision.js"
import { fromCheckRequest, toCheckResponse } from "../gateway/ext-authz.js"
import { type Policy, readPolicy, wrongSetting } from "../gateway/policy.js"
import { type AssertionOptions, assertionOf } from "../identity/assertion.js"
import type { IdentityKeys } from "../identity/identity-keys.js"
import { findRequestSession, type RequestSessionDeps } from "../introspection/request-session.js"
import type { Implementation } from "../rpc/call.js"
import type { Caller } from "../store/store.js"

export interface AuthorizationDeps extends RequestSessionDeps {
  /** Signs who a user is; undefined if the service has no issuer. */
  identity?: { keys: Pick<IdentityKeys, "sign">; issuer: string; now: () => number } | undefined
}

/** Creates the service that authorizes a gateway's requests by Envoy's protocol; `GET /v1/authorize` calls it. */
export function authorizationService(deps: AuthorizationDeps): Implementation<typeof Authorization> {
  const { identity } = deps

  async function signed(decision: Decision, { audience }: Policy, { tenant }: Caller): Promise<Decision> {
    if (audience === undefined || identity === undefined) return decision
    if (decision.kind === "denied" || decision.session === undefined) return decision
    const options: AssertionOptions = { issuer: identity.issuer, tenant, audience, now: identity.now() }
    return withAssertion(decision, await identity.keys.sign(assertionOf(decision.session, options)))
  }

  return {
    async check(message, caller) {
      const { request, settings } = fromCheckRequest(message)
      const policy = readPolicy(settings, caller.tenant)
      if (policy.audience !== undefined && identity === undefined) {
        throw wrongSetting("identity needs the service to have an --identity-issuer")
      }
      const session = await findRequestSession(deps, caller, { get: request.header }, policy.session)
      return toCheckResponse(await signed(decide(policy, request, session), policy, caller))
    },
  }
}
