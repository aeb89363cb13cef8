/** The kind of a value, as people see it. */
export type Kind = "text" | "number" | "flag" | "date" | "bytes"

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
