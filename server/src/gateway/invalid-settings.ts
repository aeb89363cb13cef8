import type { Logger } from "pino"
import type { Failure } from "../errors/failure.js"
import type { Call } from "../rpc/call.js"
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
  // The time of the last line for each tenant and message. A tenant has at most as many entries as there are rules.
  const loggedAt = new Map<string, number>()
  return ({ identity }, failure) => {
    if (identity === undefined || failure?.violations[0]?.field !== settingsField) return
    const { tenant } = identity
    const now = clock()
    const name = `${tenant} ${failure.message}`
    if (now - (loggedAt.get(name) ?? Number.NEGATIVE_INFINITY) < logIntervalMs) return
    loggedAt.set(name, now)
    log.warn({ tenant, detail: failure.message }, "a gateway has an invalid setting: its requests are rejected")
  }
}
