import { Failure } from "../errors/failure.js"
import type { KeptTokens } from "../store/types.js"
import type { ErrorKind } from "./provider.js"
import type { FailedRefresh } from "./token-answer.js"

/** A failure as the store keeps it for the account: a text of at most 64 bytes, and the time until the next attempt. */
export interface Failed {
  failure: string
  /** The time until a refresh may be tried again, in milliseconds. */
  ms: number
  /** Tokens that are stored with it. */
  kept?: KeptTokens | undefined
}

/** The first and the longest pause after failures in a row, in milliseconds. Each pause is twice as long as the last. */
const pauses: Record<ErrorKind, readonly [first: number, longest: number]> = {
  // A refused grant rarely becomes valid again. A new sign-in ends the pause.
  refused: [15 * 60_000, 24 * 3_600_000],
  client: [60_000, 15 * 60_000],
  unavailable: [5_000, 5 * 60_000],
}

/** The metadata of the error, as names in the ErrorInfo. */
interface Details {
  failure: string
  oauth_error: string
  http_status: string
}

/**
 * Returns what is stored of a failure.
 *
 * @param last The stored failure of the same refresh token, if the last refresh failed too.
 */
export function failedOf(refresh: FailedRefresh, last: string | undefined): Failed {
  const { kind, failure = "", code = "", status = "", retryAfterMs = 0, kept } = refresh
  const before = last === undefined ? undefined : parsed(last)
  const count = Math.min(before?.kind === kind ? before.count + 1 : 1, 99)
  const [first, longest] = pauses[kind]
  const ms = Math.max(retryAfterMs, Math.min(first * 2 ** (count - 1), longest))
  return { failure: [kind, failure, code, status, count].join(":"), ms, kept }
}

/** Returns the error that the caller receives. */
export function errorOf({ failure, ms }: Pick<Failed, "failure" | "ms">): Failure {
  const { kind, details } = parsed(failure)
  const metadata = Object.fromEntries(Object.entries(details).filter(([, value]) => value !== ""))
  return new Failure(reasons[kind], { retryAfterMs: ms, metadata })
}

const reasons = {
  refused: "REFRESH_REFUSED",
  client: "CLIENT_REFUSED",
  unavailable: "PROVIDER_UNAVAILABLE",
} as const

/** Reads a stored failure. */
function parsed(text: string): { kind: ErrorKind; count: number; details: Details } {
  const [kind, failure = "", code = "", status = "", count = "1"] = text.split(":")
  return {
    kind: kind === "refused" || kind === "client" ? kind : "unavailable",
    count: Number(count),
    details: { failure, oauth_error: code, http_status: status },
  }
}
