import type { DescMessage } from "@bufbuild/protobuf"

/**
 * Returns the number of entries of all lists, maps and nested messages in a message, at any depth. Stops soon after the
 * count exceeds `end`.
 */
export function countParts(value: unknown, end: number): number {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return 0
  let total = 0
  for (const key in value) {
    total += 1 + countParts((value as Record<string, unknown>)[key], end - total)
    if (total > end) return total
  }
  return total
}

/** Returns whether messages of a type may have any number of parts. Otherwise they have only fields, which the schema limits. */
export function hasParts(desc: DescMessage): boolean {
  return desc.fields.some(({ fieldKind }) => fieldKind !== "scalar" && fieldKind !== "enum")
}
