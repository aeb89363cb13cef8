import type { Logger } from "pino"
import { atMostEvery } from "../util/at-most-every.js"

/** The minimum time between two log lines of one tenant, in milliseconds. */
const logIntervalMs = 60_000

/**
 * Returns a function that logs that a JWT lacks the claim with the id of its user, because its request only looks as if
 * nobody were signed in. A line contains nothing of the JWT.
 */
export function missingUserIds(log: Logger, clock: () => number): (tenant: string, claim: string) => void {
  const once = atMostEvery(logIntervalMs, clock)
  return (tenant, claim) =>
    once(tenant, () =>
      log.warn(
        { tenant, claim },
        "a JWT lacks the claim that holds the user's id, so it is no session: see user_id_claim",
      ),
    )
}
