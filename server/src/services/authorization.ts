import type { Authorization } from "@authwire/proto/envoy"
import type { Logger } from "pino"
import { decide } from "../gateway/decision.js"
import { fromCheckRequest, toCheckResponse } from "../gateway/ext-authz.js"
import { readPolicy, settingsField } from "../gateway/policy.js"
import { findRequestSession, type RequestSessionDeps } from "../introspection/request-session.js"
import type { Implementation } from "../rpc/call.js"
import { Failure } from "../rpc/errors.js"

/** How long a wrong setting is not told again in the log, in milliseconds. */
const toldAgainMs = 60_000

/** Who the requests of a gateway are from, by Envoy's protocol; `GET /v1/authorize` of the HTTP listener is a call of it too. */
export function authorizationService(
  deps: RequestSessionDeps & { log: Logger; clock: () => number },
): Implementation<typeof Authorization> {
  const { log, clock } = deps
  // By what is wrong: as many entries as there are rules.
  const told = new Map<string, number>()

  // Proxies do not say why they could not ask. Nothing of a request is in it.
  const tell = (error: unknown, tenant: string): void => {
    if (!(error instanceof Failure) || error.violations[0]?.field !== settingsField) return
    const now = clock()
    if (now - (told.get(error.message) ?? Number.NEGATIVE_INFINITY) < toldAgainMs) return
    told.set(error.message, now)
    log.warn({ tenant, detail: error.message }, "a gateway has a wrong setting: it lets nobody in")
  }

  return {
    async check(message, call) {
      const { request, settings } = fromCheckRequest(message)
      try {
        const policy = readPolicy(settings, call.tenant)
        const session = await findRequestSession(deps, call, { get: request.header }, { cookieName: policy.cookie })
        return toCheckResponse(decide(policy, request, session))
      } catch (error) {
        tell(error, call.tenant)
        throw error
      }
    },
  }
}
