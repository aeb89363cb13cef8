import { StoreError } from "../../error.js"
import type { Extra, JsonValue } from "../../types.js"

/** The most bytes that `extra` and `authorization_details` may have as JSON. */
export const maxJsonBytes = 65_536

/** A value as JSON, exactly: JSON.stringify alone makes 0 of -0, which JSON can say and JSON.parse reads. */
export function jsonText(value: JsonValue): string {
  // Hardly any value has one, and to ask a function about every part takes longer than to write it.
  if (!holdsMinusZero(value)) return JSON.stringify(value)
  return JSON.stringify(value, (_key, part: unknown) => (Object.is(part, -0) ? rawJson("-0") : part))
}

function holdsMinusZero(value: JsonValue): boolean {
  if (typeof value !== "object" || value === null) return Object.is(value, -0)
  for (const part of Array.isArray(value) ? value : Object.values(value)) if (holdsMinusZero(part)) return true
  return false
}

// In Node since 21, in TypeScript's library not yet.
const { rawJSON: rawJson } = JSON as unknown as { rawJSON(text: string): unknown }

/** Throws INVALID_FIELD for a value that is too large. `field` is its contract name. */
export function checkJsonSize(field: string, value: JsonValue | undefined): void {
  if (value !== undefined && Buffer.byteLength(jsonText(value)) > maxJsonBytes) {
    throw new StoreError("INVALID_FIELD", `${field} must not exceed ${maxJsonBytes} bytes as JSON`, { field })
  }
}

/** Both together, the second's where both have a key. Spreading copies a key `__proto__` as it does any other. */
export function mergeExtra(stored: Extra, given: Extra | undefined): Extra {
  return { ...stored, ...given }
}
