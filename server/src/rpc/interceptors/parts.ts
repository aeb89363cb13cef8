import type { DescMessage } from "@bufbuild/protobuf"

/** Returns the number of entries of lists, maps and nested messages, at any depth, or a number above `end`. */
export function countParts(value: object, end: number): number {
  let total = 0
  // The values of a list are read without its indexes, which would be texts.
  for (const part of Array.isArray(value) ? value : Object.values(value)) {
    total++
    if (typeof part === "object" && part !== null && !ArrayBuffer.isView(part)) total += countParts(part, end - total)
    if (total > end) return total
  }
  return total
}

/** Returns whether messages of a type may have any number of parts. Otherwise they have only fields, which the schema limits. */
export function hasParts(desc: DescMessage): boolean {
  return desc.fields.some(({ fieldKind }) => fieldKind !== "scalar" && fieldKind !== "enum")
}
