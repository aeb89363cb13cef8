import type { DescField, DescMessage } from "@bufbuild/protobuf"
import { hasCustomJsonRepresentation, StructSchema } from "@bufbuild/protobuf/wkt"
import { oncePer } from "../util/once-per.js"

type OneOf = { readonly case: string | undefined; readonly value?: unknown }

/** A field whose values are messages. */
export type MessageField = DescField & { readonly message: DescMessage }

/** Returns the fields of a message that are Structs, or messages in which there may be some. */
export const structFieldsOf: (desc: DescMessage) => readonly MessageField[] = oncePer(({ fields }) =>
  fields.filter((field): field is MessageField => hasStructs(field)),
)

/** @param outer The messages in which the field is, because a message may contain others of its type. */
function hasStructs({ fieldKind, message }: DescField, outer: readonly DescMessage[] = []): boolean {
  if (fieldKind === "map" || message === undefined || outer.includes(message)) return false
  if (hasCustomJsonRepresentation(message)) return isStruct(message)
  return message.fields.some((field) => hasStructs(field, [...outer, message]))
}

export function isStruct({ typeName }: DescMessage): boolean {
  return typeName === StructSchema.typeName
}

/** Returns the value of a field, undefined if it has none, and the property that has it. */
export function partOf(message: object, { localName, oneof }: DescField): { name: string; value: unknown } {
  const values = message as Readonly<Record<string, unknown>>
  if (oneof === undefined) return { name: localName, value: values[localName] }
  const one = values[oneof.localName] as OneOf
  return { name: oneof.localName, value: one.case === localName ? one.value : undefined }
}

/** Returns the messages in the value of a field. */
export function messagesIn({ fieldKind }: DescField, value: unknown): readonly object[] {
  if (value === undefined) return []
  return (fieldKind === "list" ? value : [value]) as object[]
}
