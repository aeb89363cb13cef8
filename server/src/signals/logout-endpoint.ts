import { Failure } from "../errors/failure.js"
import { isAllowedUrl } from "../provider-tokens/providers-file.js"
import { orAborted } from "../util/abort.js"
import { discover, issuerRequest } from "./discovery.js"

/** How long an endpoint is used without being read again, and the issuer not asked after a failure, in milliseconds. */
const [keptMs, failurePauseMs] = [600_000, 5_000]
/** The most calls of a process that wait for one issuer of a tenant. */
const maxWaiting = 1_000

export interface LogoutEndpointOptions {
  issuer: string
  /** The time that the issuer may take for an answer, in milliseconds. */
  timeoutMs: number
  /** A clock for durations, in milliseconds. */
  clock: () => number
}

/**
 * Returns a function that returns the `end_session_endpoint` of an issuer; undefined if it has none that the service would connect
 * to. It is found by discovery when it is due, by one request for all calls that wait. After a failure the one that is known is
 * used; without one PROVIDER_UNAVAILABLE is thrown. Throws OVERLOADED if too many calls wait.
 */
export function logoutEndpoint({ issuer, timeoutMs, clock }: LogoutEndpointOptions) {
  const request = issuerRequest(timeoutMs)
  let known: { endpoint: string | undefined } | undefined
  let dueAt = Number.NEGATIVE_INFINITY
  let reading: Promise<void> | undefined
  let waiting = 0

  async function read(): Promise<void> {
    try {
      const { end_session_endpoint: endpoint } = await discover(issuer, request)
      known = { endpoint: endpoint !== undefined && isAllowedUrl(endpoint) ? endpoint : undefined }
      dueAt = clock() + keptMs
    } catch (error) {
      dueAt = clock() + failurePauseMs
      if (known === undefined) throw unavailable({ cause: error, failure: "discovery", retryAfterMs: failurePauseMs })
    }
  }

  return async (signal: AbortSignal | undefined): Promise<string | undefined> => {
    const retryAfterMs = dueAt - clock()
    if (retryAfterMs <= 0) {
      if (waiting >= maxWaiting)
        throw new Failure("OVERLOADED", { retryAfterMs: 1_000, message: "too many calls wait for the issuer" })
      reading ??= read().finally(() => {
        reading = undefined
      })
      waiting++
      await orAborted(reading, signal).finally(() => waiting--)
    } else if (known === undefined) throw unavailable({ failure: "paused", retryAfterMs })
    return known?.endpoint
  }
}

function unavailable({ failure, ...details }: { failure: string; retryAfterMs: number; cause?: unknown }): Failure {
  return new Failure("PROVIDER_UNAVAILABLE", { ...details, metadata: { failure } })
}
