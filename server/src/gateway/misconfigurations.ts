import type { Logger } from "pino"
import type { Failure } from "../errors/failure.js"
import type { Call } from "../rpc/call.js"
import { atMostEvery } from "../util/at-most-every.js"
import { settingsField } from "./policy.js"

/** The minimum time between two equal log lines about a tenant, in milliseconds. */
const logIntervalMs = 60_000

/** Logs wrong settings of gateways and of JWTs, which nobody else reports. No line quotes a request or a JWT. */
export function misconfigurations(log: Logger, clock: () => number) {
  // A tenant has at most as many messages as there are rules, and one more.
  const once = atMostEvery(logIntervalMs, clock)
  return {
    /** To be called at the end of each check. Proxies do not report why a check failed. */
    checked({ identity }: Call, failure: Failure | undefined): void {
      if (identity === undefined || failure?.violations[0]?.field !== settingsField) return
      const { tenant } = identity
      const detail = failure.message
      once(`${tenant} ${detail}`, () =>
        log.warn({ tenant, detail }, "a gateway has an invalid setting: its requests are rejected"),
      )
    },

    /** To be called if a JWT lacks the claim with its user's id: its request only looks as if nobody were signed in. */
    onMissingUserId(tenant: string, claim: string): void {
      const message = "a JWT lacks the claim that holds the user's id, so it is no session: see user_id_claim"
      once(tenant, () => log.warn({ tenant, claim }, message))
    },
  }
}
