import { StoreError } from "../../../errors/store-error.js"
import type { Extra, JsonValue } from "../../types.js"

/** The maximum size of `extra` and of `authorization_details`, in bytes of JSON. */
export const maxJsonBytes = 65_536

/** Serializes a value as JSON. It preserves -0, which JSON.parse reads but JSON.stringify alone writes as 0. */
export function jsonText(value: JsonValue): string {
  // Hardly any value contains -0, and calling a replacer for every part takes longer than the serialization.
  if (!holdsMinusZero(value)) return JSON.stringify(value)
  return JSON.stringify(value, (_key, part: unknown) => (Object.is(part, -0) ? rawJson("-0") : part))
}

function holdsMinusZero(value: JsonValue): boolean {
  if (typeof value !== "object" || value === null) return Object.is(value, -0)
  for (const part of Array.isArray(value) ? value : Object.values(value)) if (holdsMinusZero(part)) return true
  return false
}

// Node has it since version 21, but TypeScript's library does not declare it yet.
const { rawJSON: rawJson } = JSON as unknown as { rawJSON(text: string): unknown }

/** Throws INVALID_FIELD if a value is too large. `field` is its contract name. */
export function checkJsonSize(field: string, value: JsonValue | undefined): void {
  if (value !== undefined && Buffer.byteLength(jsonText(value)) > maxJsonBytes) {
    throw new StoreError("INVALID_FIELD", `${field} must not exceed ${maxJsonBytes} bytes as JSON`, { field })
  }
}

/** Merges two objects; the second one wins for common keys. Spreading copies a key `__proto__` like any other. */
export function mergeExtra(stored: Extra, given: Extra | undefined): Extra {
  return { ...stored, ...given }
}
