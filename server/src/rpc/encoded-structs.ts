import {
  create,
  type DescMessage,
  type JsonObject,
  type Message,
  type MessageShape,
  type Registry,
  toBinary,
  toJson,
} from "@bufbuild/protobuf"
import { WireType } from "@bufbuild/protobuf/wire"
import { encodeStruct } from "./struct-encoding.js"
import { isStruct, type MessageField, messagesIn, partOf, structFieldsOf } from "./struct-fields.js"

type UnknownFields = NonNullable<Message["$unknown"]>

/**
 * Returns a message with the same encoding, in which each google.protobuf.Struct is encoded already: it has become an unknown
 * field, which toBinary writes as it is. The result serves for nothing else.
 */
export function withEncodedStructs<S extends DescMessage>(desc: S, message: MessageShape<S>): MessageShape<S> {
  const values = message as unknown as Readonly<Record<string, unknown>>
  const $unknown: UnknownFields = []
  let changed: Record<string, unknown> | undefined
  for (const field of structFieldsOf(desc)) {
    const { name, value } = partOf(values, field)
    if (value === undefined) continue
    const left = withoutStructs(field, value, $unknown)
    if (left === value) continue
    changed ??= {}
    changed[name] = field.oneof === undefined ? left : { case: left && field.localName, value: left }
  }
  return changed === undefined ? message : { ...message, ...changed, $unknown }
}

/** Returns what toBinary returns. */
export function bytesOf<S extends DescMessage>(desc: S, message: MessageShape<S>): Uint8Array {
  return toBinary(desc, withEncodedStructs(desc, message))
}

/**
 * Returns what toJson returns, for numbers that JSON has. The JSON of a google.protobuf.Struct is the object itself, of which toJson would
 * make messages first, as toBinary does.
 *
 * @param registry The messages that google.protobuf.Any may contain. Default: none.
 */
export function jsonOf<S extends DescMessage>(desc: S, message: MessageShape<S>, registry?: Registry): JsonObject {
  let left = message as unknown as Readonly<Record<string, unknown>>
  const parts: JsonObject = {}
  for (const field of structFieldsOf(desc)) {
    const { name, value } = partOf(left, field)
    const items = messagesIn(field, value)
    if (items.length === 0) continue
    const of = field.message
    const json = items.map((item) => (isStruct(of) ? (item as JsonObject) : jsonOf(of, item as Message, registry)))
    parts[field.jsonName] = field.fieldKind === "list" ? json : (json[0] as JsonObject)
    // Something empty keeps the places of the properties.
    const empty = isStruct(of) ? {} : create(of)
    const emptied = field.fieldKind === "list" ? items.map(() => empty) : empty
    left = { ...left, [name]: field.oneof === undefined ? emptied : { case: field.localName, value: emptied } }
  }
  return Object.assign(toJson(desc, left as unknown as MessageShape<S>, registry && { registry }) as JsonObject, parts)
}

/**
 * Returns a message whose Structs have their properties, but empty objects in place of objects and lists. The rules of the schema are about
 * the properties, and protovalidate makes messages of each value first.
 */
export function withShallowStructs<S extends DescMessage>(desc: S, message: MessageShape<S>): MessageShape<S> {
  const values = message as unknown as Readonly<Record<string, unknown>>
  const changed: Record<string, unknown> = {}
  for (const field of structFieldsOf(desc)) {
    const { name, value } = partOf(values, field)
    if (value === undefined) continue
    const of = field.message
    const shallow = (item: unknown) =>
      isStruct(of) ? shallowObject(item as JsonObject) : withShallowStructs(of, item as Message)
    const left = field.fieldKind === "list" ? (value as unknown[]).map(shallow) : shallow(value)
    changed[name] = field.oneof === undefined ? left : { case: field.localName, value: left }
  }
  return { ...message, ...changed }
}

function shallowObject(object: JsonObject): JsonObject {
  const isNested = (value: unknown) => typeof value === "object" && value !== null
  if (!Object.values(object).some(isNested)) return object
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, isNested(value) ? {} : value]))
}

/** Adds the Structs of a field to `encoded`, and returns what is left of its value. */
function withoutStructs(field: MessageField, value: unknown, encoded: UnknownFields): unknown {
  const { fieldKind, number: no, message: desc } = field
  const items = messagesIn(field, value)
  if (isStruct(desc)) {
    for (const item of items)
      encoded.push({ no, wireType: WireType.LengthDelimited, data: encodeStruct(item as JsonObject) })
    return fieldKind === "list" ? [] : undefined
  }
  const parts = items.map((item) => withEncodedStructs(desc, item as Message))
  if (parts.every((part, index) => part === items[index])) return value
  return fieldKind === "list" ? parts : parts[0]
}
