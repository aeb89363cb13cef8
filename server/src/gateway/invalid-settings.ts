import type { Logger } from "pino"
import type { Failure } from "../errors/failure.js"
import type { Call } from "../rpc/call.js"
import { atMostEvery } from "../util/at-most-every.js"
import { settingsField } from "./policy.js"

/** The minimum time between two log lines about the same wrong setting, in milliseconds. */
const logIntervalMs = 60_000

/**
 * Logs the checks that fail because the gateway has an invalid setting. Proxies do not report why a check failed. A line
 * contains nothing of a request.
 *
 * @returns The function to call at the end of each check.
 */
export function invalidSettings(log: Logger, clock: () => number): (call: Call, failure: Failure | undefined) => void {
  // A tenant has at most as many messages as there are rules.
  const once = atMostEvery(logIntervalMs, clock)
  return ({ identity }, failure) => {
    if (identity === undefined || failure?.violations[0]?.field !== settingsField) return
    const { tenant } = identity
    const detail = failure.message
    once(`${tenant} ${detail}`, () =>
      log.warn({ tenant, detail }, "a gateway has an invalid setting: its requests are rejected"),
    )
  }
}
