import { isObject } from "../../util/json.js"
import { dateOf, numberOf } from "../peer/values.js"

type Read = (value: unknown) => unknown

const text: Read = (value) => (typeof value === "string" ? value : undefined)

/** Returns text for an integer that a number cannot hold. */
const integer: Read = (value) => {
  const number = numberOf(value)
  return number === undefined || Number.isSafeInteger(number) ? number : value
}

const date: Read = (value) => {
  if (typeof value === "string") return dateOf(value, "Z")
  const time = new Date(numberOf(isObject(value) ? value.$numberLong : value) ?? Number.NaN)
  return Number.isNaN(time.getTime()) ? undefined : time
}

const bytes: Read = (value) => {
  const base64 = isObject(value) ? value.base64 : undefined
  return typeof base64 === "string" ? Buffer.from(base64, "base64") : undefined
}

/** The types of MongoDB's Extended JSON, version 2, in its relaxed and its canonical form. */
const types: Readonly<Record<string, Read>> = {
  $oid: text,
  $uuid: text,
  $symbol: text,
  $date: date,
  $binary: bytes,
  $numberInt: numberOf,
  $numberLong: integer,
  $numberDouble: numberOf,
  $numberDecimal: text,
}

/** The most levels of a document of MongoDB. A row is rejected with fewer. */
const maxDepth = 100

/**
 * Returns a value of Extended JSON: an ObjectId as its hexadecimal digits, a date as a Date, bytes as a Buffer. What is nested
 * too deeply is cut off.
 */
export function extendedValue(json: unknown, depth = 0): unknown {
  const within = (value: unknown) => (depth < maxDepth ? inStructure(value, depth + 1) : null)
  if (Array.isArray(json)) return json.map(within)
  if (!isObject(json)) return json
  const [[name = "", value] = [], ...more] = Object.entries(json)
  const read = more.length === 0 && Object.hasOwn(types, name) ? types[name]?.(value) : undefined
  return read ?? Object.fromEntries(Object.entries(json).map(([key, one]) => [key, within(one)]))
}

/** Returns a value within a structure, as JSON. */
function inStructure(json: unknown, depth: number): unknown {
  const value = extendedValue(json, depth)
  if (value instanceof Date) return value.toISOString()
  return Buffer.isBuffer(value) ? value.toString("base64") : value
}
