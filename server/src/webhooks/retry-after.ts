/** The longest pause that a receiver may ask for, in milliseconds. */
const longestMs = 12 * 3_600_000

/** A date of HTTP in its preferred form (RFC 9110, section 5.6.7), such as `Sun, 06 Nov 1994 08:49:37 GMT`. */
const httpDate = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/

/**
 * Returns the pause that a Retry-After header asks for, in milliseconds, at most 12 hours; undefined if it asks for none.
 * A date counts from the Date header of the answer, so that no two clocks are compared.
 *
 * @param sentAt The time of the delivery, for an answer without a Date header.
 */
export function retryAfterMs(
  { "retry-after": text = "", date = "" }: { "retry-after"?: string | undefined; date?: string | undefined },
  sentAt: Date,
): number | undefined {
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : timeOf(text) - (timeOf(date) || sentAt.getTime())
  return ms > 0 ? Math.min(ms, longestMs) : undefined
}

function timeOf(text: string): number {
  return httpDate.test(text) ? Date.parse(text) : Number.NaN
}
