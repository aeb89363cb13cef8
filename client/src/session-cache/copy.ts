/** Returns a deep copy of a result of the adapter (JSON and dates), because callers may modify what they receive. */
export function copyOf<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value
  if (value instanceof Date) return new Date(value.getTime()) as T
  if (Array.isArray(value)) return value.map(copyOf) as T
  const copy: Record<string, unknown> = {}
  for (const name in value) {
    const property: unknown = value[name]
    const copied = typeof property === "object" ? copyOf(property) : property
    // An assignment would set the prototype of the copy.
    if (name === "__proto__") Object.defineProperty(copy, name, { value: copied, ...plain })
    else copy[name] = copied
  }
  return copy as T
}

const plain = { writable: true, enumerable: true, configurable: true }
