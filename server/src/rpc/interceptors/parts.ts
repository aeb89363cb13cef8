import type { DescField, DescMessage } from "@bufbuild/protobuf"

/** Counts the entries in a value, and stops soon after the count exceeds `end`. */
type Count = (value: never, end: number) => number

const counts = new Map<DescMessage, Count | undefined>()

/**
 * Returns the function that counts the entries of all lists and maps in a message of a type, at any depth. It stops
 * soon after the count exceeds `end`. Fields are not counted, because the schema limits their number. Returns undefined
 * for a type that contains nothing to count.
 */
export function countOf(desc: DescMessage): Count | undefined {
  if (counts.has(desc)) return counts.get(desc)
  // Protobuf-ES represents these as plain JSON.
  if (desc.typeName === "google.protobuf.Struct") return countJson
  // For a recursive type: its field finds this function, which calls the final one.
  counts.set(desc, (value: object, end: number) => counts.get(desc)?.(value as never, end) ?? 0)
  const fields = desc.members
    .flatMap((member) => (member.kind === "oneof" ? [] : [member]))
    .flatMap((field) => {
      const count = countOfField(field)
      return count === undefined ? [] : [{ name: field.localName, count }]
    })
  const cases = desc.oneofs.flatMap((oneof) => {
    const byCase = new Map(
      oneof.fields.flatMap((field) => {
        const count = countOfField(field)
        return count === undefined ? [] : [[field.localName, count] as const]
      }),
    )
    return byCase.size === 0 ? [] : [{ name: oneof.localName, byCase }]
  })
  const isFlat = fields.length === 0 && cases.length === 0
  const count = (message: Record<string, unknown>, end: number): number => {
    let total = 0
    for (const { name, count } of fields) {
      const value = message[name]
      if (value !== undefined) total += count(value as never, end - total)
      if (total > end) return total
    }
    for (const { name, byCase } of cases) {
      const { case: which, value } = message[name] as { case: string; value: never }
      total += byCase.get(which)?.(value, end - total) ?? 0
    }
    return total
  }
  counts.set(desc, isFlat ? undefined : count)
  return counts.get(desc)
}

function countOfField(field: DescField): Count | undefined {
  switch (field.fieldKind) {
    case "message":
      return countOf(field.message)
    case "list": {
      const count = field.listKind === "message" ? countOf(field.message) : undefined
      return (list: readonly unknown[], end: number) => {
        let total = list.length
        if (count === undefined) return total
        for (const one of list) {
          if (total > end) return total
          total += count(one as never, end - total)
        }
        return total
      }
    }
    case "map": {
      const count = field.mapKind === "message" ? countOf(field.message) : undefined
      return (map: Record<string, unknown>, end: number) => {
        let total = 0
        for (const key in map) {
          total += 1 + (count?.(map[key] as never, end - total) ?? 0)
          if (total > end) return total
        }
        return total
      }
    }
    default:
      return undefined
  }
}

function countJson(value: unknown, end: number): number {
  if (typeof value !== "object" || value === null) return 0
  let total = 0
  for (const key in value) {
    total += 1 + countJson((value as Record<string, unknown>)[key], end - total)
    if (total > end) return total
  }
  return total
}
