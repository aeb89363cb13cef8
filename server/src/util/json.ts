/**
 * The maximum nesting depth of objects and arrays, including the outermost. Protobuf parsers stop at 100 nested
 * messages, and each nested object costs three. A client in Java, Python or Rust could not read a deeper value.
 */
export const maxJsonDepth = 32

/** Parses a text as JSON. Returns undefined if it is not JSON: the error of JSON.parse would quote the text. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Returns whether a value is an object, and neither null nor a list. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

/** Returns whether a value is a list of objects. */
export function isListOfObjects(value: unknown): value is Record<string, unknown>[] {
  return Array.isArray(value) && value.every(isObject)
}

/** Returns whether objects and lists are nested deeper, including the outermost. */
export function isDeeperThan(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return false
  if (depth === 0) return true
  const parts: unknown[] = Array.isArray(value) ? value : Object.values(value)
  return parts.some((part) => isDeeperThan(part, depth - 1))
}
