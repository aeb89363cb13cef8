import type { JsonObject, JsonValue } from "@bufbuild/protobuf"
import { invalid } from "../error.js"
import { isDate, wellFormed } from "./field.js"

/**
 * How many objects and arrays may stand in each other, the outermost included: the service takes no more, because readers
 * of protobuf in some languages could not read it.
 */
export const maxDepth = 32

/**
 * The properties that the contract does not name, as google.protobuf.Struct. Undefined if there are none.
 *
 * @param rest - What is left of an object without its named properties. Undefined ones are absent ones.
 * @param nullable - Named properties that may be null: those that are go into `extra`, because a field of the wire can
 * only be set or unset, and null is neither absent nor a value.
 */
export function extraToWire(rest: object, nullable: Record<string, unknown> = {}): JsonObject | undefined {
  const nulls = Object.keys(nullable).filter((name) => nullable[name] === null)
  const extra = jsonObject("extra", rest, { dates: "rejected", nulls })
  return Object.keys(extra).length > 0 ? extra : undefined
}

interface JsonOptions {
  /** What becomes of a Date: its ISO string, as in JSON, or an error, because it would come back as a text. */
  readonly dates?: "text" | "rejected"
  /** Properties that are null beside those of the object. */
  readonly nulls?: readonly string[]
}

/**
 * A copy of an object as JSON.stringify sees it: `toJSON` is called and undefined properties are dropped. What JSON
 * would lose silently (functions, symbols, maps, NaN) is an error that names the path.
 */
export function jsonObject(
  path: string,
  value: object,
  { dates = "text", nulls = [] }: JsonOptions = {},
  above: readonly object[] = [],
): JsonObject {
  const inside = [...above, value]
  const entries = Object.entries(value).flatMap(([key, item]): [string, JsonValue][] => {
    const at = `${path}.${key.toWellFormed()}`
    wellFormed(at, key)
    const json = toJson(at, key, item, { dates }, inside)
    return json === undefined ? [] : [[key, json]]
  })
  // Object.fromEntries defines own properties, so that a key `__proto__` is a key like any other.
  return Object.fromEntries([...entries, ...nulls.map((name): [string, JsonValue] => [name, null])])
}

function toJson(
  path: string,
  key: string,
  given: unknown,
  options: JsonOptions,
  above: readonly object[],
): JsonValue | undefined {
  if (options.dates === "rejected" && isDate(given))
    throw invalid(path, "must be a value of JSON: a Date would come back as a string, so store its toISOString()")
  const value = hasToJson(given) ? given.toJSON(key) : given
  switch (typeof value) {
    case "undefined":
      return undefined
    case "string":
      return wellFormed(path, value)
    case "boolean":
      return value
    case "number":
      if (!Number.isFinite(value)) throw invalid(path, "must be a finite number")
      return value
    case "object":
      break
    default:
      throw invalid(path, `must be a value of JSON, not a ${typeof value}`)
  }
  if (value === null) return null
  if (above.includes(value)) throw invalid(path, "must not contain itself")
  if (above.length >= maxDepth) throw invalid(path, `must not be nested deeper than ${maxDepth} levels`)
  if (Array.isArray(value)) {
    const inside = [...above, value]
    return Array.from(value, (item, index) => toJson(`${path}[${index}]`, String(index), item, options, inside) ?? null)
  }
  if (!isPlain(value)) throw invalid(path, "must be a value of JSON")
  return jsonObject(path, value, options, above)
}

function hasToJson(value: unknown): value is { toJSON(key: string): unknown } {
  return typeof value === "object" && value !== null && "toJSON" in value && typeof value.toJSON === "function"
}

/** Whether a value is an object literal or an instance of the caller's classes; not an array, map, date or buffer. */
export function isPlain(value: unknown): value is object {
  return Object.prototype.toString.call(value) === "[object Object]"
}
