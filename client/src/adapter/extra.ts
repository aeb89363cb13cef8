import type { JsonObject, JsonValue } from "@bufbuild/protobuf"
import { invalid } from "../errors/error.js"
import { isDate, notWellFormed } from "./field.js"

/**
 * The maximum nesting depth of objects and arrays, including the outermost. The service rejects deeper nesting, because
 * protobuf parsers in some languages could not read it.
 */
export const maxDepth = 32

/**
 * Converts the properties that the contract does not name to a google.protobuf.Struct. Returns undefined if there are
 * none.
 *
 * @param rest - The object without its named properties. Undefined properties count as absent.
 * @param nullable - Named properties that may be null. Those that are null are stored in `extra`, because a protobuf
 * field can only be set or unset, and null is neither absent nor a value.
 */
export function extraToWire(rest: object, nullable: Record<string, unknown> = {}): JsonObject | undefined {
  const nulls = Object.keys(nullable).filter((name) => nullable[name] === null)
  const extra = jsonObject("extra", rest, nulls)
  return Object.keys(extra).length > 0 ? extra : undefined
}

/**
 * Copies an object as JSON.stringify would: calls `toJSON` and drops undefined properties. Throws an error with the
 * path of a value that JSON would lose silently (a function, a symbol, a map, NaN), or of a Date, because it would be
 * read back as a string.
 *
 * @param nulls - The names of additional properties that are null.
 */
export function jsonObject(
  path: string,
  value: object,
  nulls: readonly string[] = [],
  above: readonly object[] = [],
): JsonObject {
  const inside = [...above, value]
  const entries = Object.entries(value).flatMap(([key, item]): [string, JsonValue][] => {
    const at = `${path}.${key.toWellFormed()}`
    if (!key.isWellFormed()) throw notWellFormed(at)
    const json = toJson(at, key, item, inside)
    return json === undefined ? [] : [[key, json]]
  })
  // Object.fromEntries defines own properties, so a key `__proto__` does not set the prototype.
  return Object.fromEntries([...entries, ...nulls.map((name): [string, JsonValue] => [name, null])])
}

function toJson(path: string, key: string, given: unknown, above: readonly object[]): JsonValue | undefined {
  if (isDate(given))
    throw invalid(path, "must be a JSON value: a Date would come back as a string, so store its toISOString()")
  const value = hasToJson(given) ? given.toJSON(key) : given
  switch (typeof value) {
    case "undefined":
      return undefined
    case "string":
      if (!value.isWellFormed()) throw notWellFormed(path)
      return value
    case "boolean":
      return value
    case "number":
      if (!Number.isFinite(value)) throw invalid(path, "must be a finite number")
      return value
    case "object":
      break
    default:
      throw invalid(path, `must be a JSON value, not a ${typeof value}`)
  }
  if (value === null) return null
  if (above.includes(value)) throw invalid(path, "must not contain itself")
  if (above.length >= maxDepth) throw invalid(path, `must not be nested deeper than ${maxDepth} levels`)
  if (Array.isArray(value)) {
    const inside = [...above, value]
    return Array.from(value, (item, index) => toJson(`${path}[${index}]`, String(index), item, inside) ?? null)
  }
  if (!isPlain(value)) throw invalid(path, "must be a JSON value")
  return jsonObject(path, value, [], above)
}

function hasToJson(value: unknown): value is { toJSON(key: string): unknown } {
  return typeof value === "object" && value !== null && "toJSON" in value && typeof value.toJSON === "function"
}

/** Returns whether a value is an object literal or of a caller's class: no array, map, date or buffer. */
export function isPlain(value: unknown): value is object {
  return Object.prototype.toString.call(value) === "[object Object]"
}
