import type { Authorization } from "@authwire/proto/envoy"
import type { Logger } from "pino"
import { decide } from "../gateway/decision.js"
import { fromCheckRequest, toCheckResponse } from "../gateway/ext-authz.js"
import { readPolicy, settingsField } from "../gateway/policy.js"
import { findRequestSession, type RequestSessionDeps } from "../introspection/request-session.js"
import type { Implementation } from "../rpc/call.js"
import { Failure } from "../rpc/errors.js"

/** The minimum time between two log lines about the same wrong setting, in milliseconds. */
const logIntervalMs = 60_000

/**
 * Creates the service that authorizes the requests of a gateway, by Envoy's protocol. `GET /v1/authorize` of the HTTP
 * listener calls it too.
 */
export function authorizationService(
  deps: RequestSessionDeps & { log: Logger; clock: () => number },
): Implementation<typeof Authorization> {
  const { log, clock } = deps
  // The time of the last log line for each tenant and message. A tenant has at most as many entries as there are rules.
  const loggedAt = new Map<string, number>()

  // Logged here, because proxies do not report why a check failed. The line contains nothing of a request.
  const logWrongSetting = (error: unknown, tenant: string): void => {
    if (!(error instanceof Failure) || error.violations[0]?.field !== settingsField) return
    const now = clock()
    const name = `${tenant} ${error.message}`
    if (now - (loggedAt.get(name) ?? Number.NEGATIVE_INFINITY) < logIntervalMs) return
    loggedAt.set(name, now)
    log.warn({ tenant, detail: error.message }, "a gateway has an invalid setting: its requests are rejected")
  }

  return {
    async check(message, call) {
      const { request, settings } = fromCheckRequest(message)
      try {
        const policy = readPolicy(settings, call.tenant)
        const session = await findRequestSession(deps, call, { get: request.header }, { cookieName: policy.cookie })
        return toCheckResponse(decide(policy, request, session))
      } catch (error) {
        logWrongSetting(error, call.tenant)
        throw error
      }
    },
  }
}
