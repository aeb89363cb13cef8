const isoDateTime = /\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d(?::[0-5]\d(?:\.\d+)?)?(?:[+-][0-2]\d:[0-5]\d|Z)/

/**
 * Whether a value is the text of a date and time: a string that contains one in the form of ISO 8601 with a time zone,
 * seconds and their fractions optional, and that Date.parse understands. Stores that keep dates as text find them so.
 * The contract names it and leaves open what it does; this is what isDate of @auth/core/adapters does.
 *
 * @example
 * ```ts
 * isDate("2030-01-01T00:00:00.000Z") // true
 * isDate("2030-01-01") // false
 * isDate(new Date()) // false: it is one, not the text of one
 * ```
 */
export function isDate(value: unknown): value is string {
  return typeof value === "string" && isoDateTime.test(value) && !Number.isNaN(Date.parse(value))
}
