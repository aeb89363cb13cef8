import { type Timestamp, timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt"
import { invalid, malformed } from "../errors/error.js"

/** Checks the value of a property, by its name in the contract, and converts it to that of its protobuf field. */
type Check<T> = (name: string, value: unknown) => T

/** The largest value of a uint32. */
const maxCounter = 0xffff_ffff

export const text: Check<string> = (name, value) => {
  if (typeof value !== "string") throw invalid(name, "must be a string")
  if (!value.isWellFormed()) throw notWellFormed(name)
  return value
}

/**
 * Accepts a text that Auth.js passes on as a provider has sent it, such as an id or a token: also an integer, as its
 * decimal digits. Larger integers are not exact in JavaScript.
 */
export const providedText: Check<string> = (name, value) => {
  if (typeof value === "bigint" || Number.isSafeInteger(value)) return String(value)
  if (typeof value === "number") {
    const rule = Number.isInteger(value)
      ? "must be a string, because an integer above 2^53 is not exact"
      : "must be a string"
    throw invalid(name, rule)
  }
  return text(name, value)
}

/**
 * Accepts the lifetime or the expiry of a token, which Auth.js passes on as a provider has sent it: a number or its
 * digits. Anything else says nothing, so the expiry is unknown.
 */
export const providedNumber: Check<number | undefined> = (_name, value) => {
  const number = typeof value === "string" && /^-?\d{1,15}$/.test(value) ? Number(value) : value
  return typeof number === "number" && Number.isFinite(number) ? number : undefined
}

export const counter: Check<number> = (name, value) => {
  if (typeof value !== "number" || !Number.isInteger(value) || value < 0 || value > maxCounter)
    throw invalid(name, `must be an integer from 0 to ${maxCounter}`)
  return value
}

export const flag: Check<boolean> = (name, value) => {
  if (typeof value !== "boolean") throw invalid(name, "must be a boolean")
  return value
}

export const time: Check<Timestamp> = (name, value) => {
  if (!isDate(value)) throw invalid(name, "must be a Date")
  if (Number.isNaN(value.getTime())) throw invalid(name, "must be a valid Date")
  return timestampFromDate(value)
}

/** Makes a check accept an absent or null property, which leaves the field unset. */
export function optional<T>(check: Check<T>): Check<T | undefined> {
  return (name, value) => (value === undefined || value === null ? undefined : check(name, value))
}

/** Returns the error for a string that UTF-8, and so protobuf, cannot encode. */
export function notWellFormed(name: string) {
  return invalid(name, "must be well-formed Unicode")
}

/** Checks every string in a request, at any depth. The error names the path. */
export function checkText(path: string, value: unknown): void {
  if (typeof value === "string" && !value.isWellFormed()) throw notWellFormed(path)
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return
  for (const key in value) {
    const name = Array.isArray(value) ? `[${key}]` : key.toWellFormed()
    const at = path === "" || Array.isArray(value) ? path + name : `${path}.${name}`
    if (!key.isWellFormed()) throw notWellFormed(at)
    checkText(at, (value as Record<string, unknown>)[key])
  }
}

/** Converts the timestamp of a field that the schema requires in every response. */
export function date(field: string, value: Timestamp | undefined): Date {
  if (value === undefined) throw malformed(`without ${field}`)
  return timestampDate(value)
}

/** Does not use `instanceof`, because test runners and sandboxes have a separate Date class for each realm. */
export function isDate(value: unknown): value is Date {
  return Object.prototype.toString.call(value) === "[object Date]"
}
