import { Failure } from "../errors.js"
import type { JsonValue } from "../store/types.js"

// Each level of JSON is two messages deep on the wire, and protobuf readers stop at 100: what stands deeper than this
// could be stored but never read again.
const maxDepth = 48

/**
 * Refuses what a google.protobuf.Struct can hold but JSON in the store, or the next reader, cannot: numbers that are
 * not finite (JSON would keep null in their place) and nesting of more than 48 levels.
 *
 * @param field - the field of the request that the value came in, for the error
 */
export function checkJson(value: JsonValue, field: string, depth = 0): void {
  if (typeof value === "number" && !Number.isFinite(value)) refuse(field, "numbers must be finite")
  if (typeof value !== "object" || value === null) return
  if (depth > maxDepth) refuse(field, `must not be nested deeper than ${maxDepth} levels`)
  for (const part of Object.values(value)) checkJson(part, field, depth + 1)
}

function refuse(field: string, description: string): never {
  throw new Failure("INVALID_FIELD", { violations: [{ field, description }] })
}
