import type { DescField, DescMessage, JsonObject, Message, MessageShape } from "@bufbuild/protobuf"
import { WireType } from "@bufbuild/protobuf/wire"
import { StructSchema } from "@bufbuild/protobuf/wkt"
import { oncePer } from "../util/once-per.js"
import { encodeStruct } from "./struct-encoding.js"

type UnknownFields = NonNullable<Message["$unknown"]>
type OneOf = { readonly case: string | undefined; readonly value?: unknown }

/**
 * Returns a message with the same encoding, in which each google.protobuf.Struct is encoded already: it has become an unknown
 * field, which toBinary writes as it is. The result serves for nothing else.
 */
export function withEncodedStructs<S extends DescMessage>(desc: S, message: MessageShape<S>): MessageShape<S> {
  const values = message as unknown as Readonly<Record<string, unknown>>
  const $unknown: UnknownFields = []
  let changed: Record<string, unknown> | undefined
  for (const field of fieldsOf(desc)) {
    const { localName, oneof } = field
    const name = oneof?.localName ?? localName
    const value = oneof === undefined ? values[name] : valueIn(values[name] as OneOf, localName)
    if (value === undefined) continue
    const left = withoutStructs(field, value, $unknown)
    if (left === value) continue
    changed ??= {}
    changed[name] = oneof === undefined ? left : { case: left && localName, value: left }
  }
  return changed === undefined ? message : { ...message, ...changed, $unknown }
}

function valueIn(oneof: OneOf, name: string): unknown {
  return oneof.case === name ? oneof.value : undefined
}

/** Adds the Structs of a field to `encoded`, and returns what is left of its value. */
function withoutStructs(
  { fieldKind, number: no, message }: DescField,
  value: unknown,
  encoded: UnknownFields,
): unknown {
  const items = (fieldKind === "list" ? value : [value]) as unknown[]
  const desc = message as DescMessage
  if (isStruct(desc)) {
    for (const item of items)
      encoded.push({ no, wireType: WireType.LengthDelimited, data: encodeStruct(item as JsonObject) })
    return fieldKind === "list" ? [] : undefined
  }
  const parts = items.map((item) => withEncodedStructs(desc, item as Message))
  if (parts.every((part, index) => part === items[index])) return value
  return fieldKind === "list" ? parts : parts[0]
}

/** The fields that are Structs, or messages in which there may be some. */
const fieldsOf = oncePer(({ fields }: DescMessage): readonly DescField[] =>
  fields.filter(
    ({ fieldKind, message }) =>
      fieldKind !== "map" && message !== undefined && (isStruct(message) || fieldsOf(message).length > 0),
  ),
)

function isStruct({ typeName }: DescMessage): boolean {
  return typeName === StructSchema.typeName
}
