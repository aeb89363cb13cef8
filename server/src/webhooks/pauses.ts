/** The first pause after a failed delivery, and the longest, in milliseconds. Each is three times as long as the one before it. */
const firstPauseMs = 5_000
const longestPauseMs = 12 * 3_600_000

/** How often a delivery is sent. With the pauses in between this takes three days. */
export const maxAttempts = 14

/** By how much a pause may be shorter, as a part of it, so that what failed together is not sent again together. */
const jitter = 0.2

/**
 * Returns the pause before a delivery is sent again, in milliseconds.
 *
 * @param attempts how often it was sent, at least once.
 * @param retryAfterMs the pause that the receiver asked for, at least.
 */
export function pauseMs(attempts: number, retryAfterMs = 0, random = Math.random): number {
  const whole = Math.min(longestPauseMs, firstPauseMs * 3 ** (attempts - 1))
  return Math.max(retryAfterMs, whole * (1 - jitter * random()))
}
