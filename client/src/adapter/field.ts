import { type Timestamp, timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt"
import { invalid, malformed } from "../errors/error.js"

/**
 * Checks the value of a property and converts it to the value of its protobuf field. `name` is the property's name in
 * the contract.
 */
type Check<T> = (name: string, value: unknown) => T

/** The largest value of a uint32. */
const maxCounter = 0xffff_ffff

export const text: Check<string> = (name, value) => {
  if (typeof value !== "string") throw invalid(name, "must be a string")
  if (!value.isWellFormed()) throw notWellFormed(name)
  return value
}

export const finite: Check<number> = (name, value) => {
  if (typeof value !== "number" || !Number.isFinite(value)) throw invalid(name, "must be a finite number")
  return value
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
