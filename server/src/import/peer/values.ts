import { isUtf8 } from "node:buffer"
import type { JsonValue } from "../../store/types.js"

// Converts the values of drivers to values of the contract. Returns undefined for a value that cannot be converted.

/** Returns text. Ids may be numbers, and binary columns must contain UTF-8. */
export function textOf(value: unknown): string | undefined {
  if (typeof value === "string") return value
  if (typeof value === "bigint") return String(value)
  // A double has rounded any other number, so that it names nobody.
  if (typeof value === "number") return Number.isSafeInteger(value) ? String(value) : undefined
  const bytes = bytesOf(value)
  if (bytes === undefined) return undefined
  const text = bytes.toString("utf8")
  return Buffer.from(text).equals(bytes) ? text : undefined
}

export function numberOf(value: unknown): number | undefined {
  if (typeof value === "number") return value
  if (typeof value === "bigint") return Number(value)
  return typeof value === "string" && /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(value) ? Number(value) : undefined
}

export function flagOf(value: unknown): boolean | undefined {
  if (typeof value === "boolean") return value
  // Drivers return a one-bit column as a byte.
  const bytes = bytesOf(value)
  const plain = String(bytes?.length === 1 ? bytes[0] : value)
    .trim()
    .toLowerCase()
  if (/^(1|1\.0+|t|true|y|yes|on)$/.test(plain)) return true
  return /^(|0|0\.0+|f|false|n|no|off)$/.test(plain) ? false : undefined
}

/** Returns the text of a UUID that is stored as its 16 bytes. */
export function uuidOf(value: unknown): string | undefined {
  const hex = bytesOf(value)?.toString("hex")
  if (hex?.length !== 32) return undefined
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-")
}

/**
 * The range of numbers that are dates: seconds since 1970 from the year 2000 to 2200, or milliseconds. Auth.js is younger
 * than that. Other numbers are flags, years, days or dates in decimal digits.
 */
const [firstSecond, lastSecond] = [946_684_800, 7_258_118_400]

const dateForm = /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d:\d\d)(?:\.(\d+))?)?\s*(Z|UTC|[+-]\d\d(?::?\d\d)?)?$/i

/**
 * Returns a point in time, to the millisecond. Accepts a Date, the database's own date format, ISO 8601, and seconds or
 * milliseconds since 1970 from the year 2000 to 2200.
 *
 * @param timezone The time zone of dates without one: `Z` or an offset such as `+02:00`.
 */
export function dateOf(value: unknown, timezone: string): Date | undefined {
  if (value instanceof Date) return value
  const number = numberOf(value)
  if (number !== undefined) {
    if (number >= firstSecond && number < lastSecond) return new Date(number * 1000)
    return number >= firstSecond * 1000 && number < lastSecond * 1000 ? new Date(number) : undefined
  }
  if (typeof value !== "string") return undefined
  const [, day, time = "00:00:00", fraction = "", zone = timezone] = dateForm.exec(value) ?? []
  if (day === undefined) return undefined
  const offset = /^[+-]/.test(zone) ? `${zone.slice(0, 3)}:${zone.slice(3).replace(":", "") || "00"}` : "Z"
  return valid(new Date(`${day}T${time}.${fraction.slice(0, 3).padEnd(3, "0")}${offset}`))
}

function valid(date: Date): Date | undefined {
  return Number.isNaN(date.getTime()) ? undefined : date
}

/** Reads a value as JSON. `timezone` applies to dates without a time zone. */
export type JsonReader = (value: unknown, timezone: string) => JsonValue | undefined

/** Returns a reader for columns that the contract does not name. Dates become ISO 8601, bytes become Base64. */
export function jsonReader(type: string): JsonReader {
  const read = readerOf(type)
  return (value, timezone) => (value === null || typeof value === "boolean" ? value : read(value, timezone))
}

function readerOf(type: string): JsonReader {
  if (type.endsWith("[]")) return listReader(jsonReader(type.slice(0, -"[]".length)))
  if (/^(tinyint\(1\)|bool)/.test(type)) return (value) => flagOf(value) ?? numberOf(value)
  if (/^(json|jsonb)$/.test(type)) return (value) => (typeof value === "string" ? parsed(value) : (value as JsonValue))
  if (/^(date|timestamp)/.test(type)) {
    return (value, timezone) => dateOf(value, timezone)?.toISOString() ?? textOf(value)
  }
  if (/^(real|double|float)/.test(type)) return (value) => numberOf(value) ?? textOf(value)
  // The types `point` and `multipoint` also contain `int`, and are not numbers.
  if (/\b(tiny|small|medium|big)?int/.test(type)) {
    return (value) => {
      const number = numberOf(value)
      return number === undefined || (number % 1 === 0 && !Number.isSafeInteger(number)) ? textOf(value) : number
    }
  }
  return (value) => {
    if (typeof value === "number" || typeof value === "string") return value
    if (value instanceof Date) return value.toISOString()
    return bytesOf(value)?.toString("base64") ?? (typeof value === "object" ? (value as JsonValue) : undefined)
  }
}

/** Reads PostgreSQL arrays. They may be nested, and the type does not tell how deeply. */
function listReader(element: JsonReader): JsonReader {
  const read: JsonReader = (value, timezone) => {
    if (!Array.isArray(value)) return element(value, timezone)
    const all = value.map((one) => read(one, timezone))
    return all.every((one) => one !== undefined) ? all : undefined
  }
  return read
}

/** Parses JSON text. Text that is not JSON is returned as it is: SQLite stores any text in a column of JSON. */
export function parsed(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue
  } catch {
    return text
  }
}

function bytesOf(value: unknown): Buffer | undefined {
  return value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : undefined
}

/** A text that is not valid UTF-8. */
interface BrokenText {
  brokenText: Uint8Array
}

export function isBroken(cell: unknown): cell is BrokenText {
  return typeof cell === "object" && cell !== null && "brokenText" in cell
}

/** Decodes a text. Nothing of it is left out or replaced. */
export function decoded(bytes: Buffer): string | BrokenText {
  return isUtf8(bytes) ? bytes.toString("utf8") : { brokenText: bytes }
}

/** The kind of a value, as people see it. */
type Kind = "text" | "number" | "flag" | "date" | "bytes"

/** A kind that the type of a column tells, because its values may come as text. */
export type TypeKind = "number" | "flag" | "date"

/** Returns the kind of the values of a type; undefined if the values say it themselves. */
export function kindOfType(type: string): TypeKind | undefined {
  if (/^(date|timestamp)/.test(type)) return "date"
  if (/^(tinyint\(1\)|bool)/.test(type)) return "flag"
  const isNumber = /^((tiny|small|medium|big)?int|integer|decimal|numeric|real|double|float)\b/.test(type)
  return isNumber && !type.endsWith("[]") ? "number" : undefined
}

/**
 * Returns the kind of a value; undefined for null and structures.
 *
 * @param ofType - The kind of the type of its column. The database's own text of a date or number is one.
 */
export function kindOf(value: unknown, ofType?: TypeKind): Kind | undefined {
  if (value instanceof Uint8Array) return "bytes"
  if (value instanceof Date) return "date"
  if (typeof value === "boolean") return "flag"
  if (typeof value === "number" || typeof value === "bigint") return ofType === "flag" ? "flag" : "number"
  return typeof value === "string" ? (ofType ?? "text") : undefined
}
