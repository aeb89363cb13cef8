const isoDateTime = /\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d(?::[0-5]\d(?:\.\d+)?)?(?:[+-][0-2]\d:[0-5]\d|Z)/

/**
 * Returns whether a value is a string that contains an ISO 8601 date and time with a time zone, and that Date.parse
 * accepts. Seconds and their fractions are optional. Stores that keep dates as text use it to recognize them. The
 * contract names this function but does not define it; it behaves like isDate of @auth/core/adapters.
 *
 * @example
 * ```ts
 * isDate("2030-01-01T00:00:00.000Z") // true
 * isDate("2030-01-01") // false
 * isDate(new Date()) // false: a Date is not a string
 * ```
 */
export function isDate(value: unknown): value is string {
  return typeof value === "string" && isoDateTime.test(value) && !Number.isNaN(Date.parse(value))
}
