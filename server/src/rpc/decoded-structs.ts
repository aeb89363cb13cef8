import {
  type DescField,
  type DescMessage,
  fromBinary,
  fromJson,
  type JsonObject,
  type JsonValue,
  type MessageShape,
  type Registry,
  ScalarType,
} from "@bufbuild/protobuf"
import { invalidField } from "../errors/failure.js"
import { isListOfObjects, isObject } from "../util/json.js"
import { oncePer } from "../util/once-per.js"
import { maxParts } from "./interceptors/validation.js"
import { jsonFault } from "./json.js"
import { decodeStruct, type PartsLeft } from "./struct-decoding.js"
import { isStruct, type MessageField, messagesIn, partOf, structFieldsOf } from "./struct-fields.js"
import { countWireParts } from "./wire-parts.js"

/** The fields with Structs that are read here. Those of a oneof, which no request has, are left to protobuf-es. */
const ownFieldsOf = oncePer((desc: DescMessage) => structFieldsOf(desc).filter(({ oneof }) => oneof === undefined))

/**
 * Returns what fromBinary returns, without unknown fields, because the schema has no limit for them and nothing reads them. Structs do not
 * become messages first: see decodeStruct. Throws INVALID_FIELD for a request with too many parts; see countWireParts.
 *
 * @param most The largest number of parts. Default: that of validation.
 */
export function messageOf<S extends DescMessage>(desc: S, bytes: Uint8Array, most = maxParts): MessageShape<S> {
  const own = withBytes(desc)
  const parts = { left: most - countWireParts(own, bytes, most) }
  const message = fromBinary(own, bytes, { readUnknownFields: false })
  decodeStructs(desc, message, parts)
  return message as MessageShape<S>
}

/** Describes the same encoding, but each Struct as bytes: a list of its occurrences. */
const withBytes = oncePer((desc: DescMessage): DescMessage => {
  const changed = new Map<object, DescField>(
    ownFieldsOf(desc).map((field) => [
      field,
      (isStruct(field.message)
        ? { ...field, fieldKind: "list", listKind: "scalar", scalar: ScalarType.BYTES, message: undefined }
        : { ...field, message: withBytes(field.message) }) as DescField,
    ]),
  )
  const fields = desc.fields.map((field) => changed.get(field) ?? field)
  return { ...desc, fields, members: desc.members.map((member) => changed.get(member) ?? member) }
})

function decodeStructs(desc: DescMessage, message: object, parts: PartsLeft): void {
  const values = message as Record<string, unknown>
  for (const field of ownFieldsOf(desc)) {
    const { localName } = field
    if (!isStruct(field.message)) {
      for (const part of messagesIn(field, values[localName])) decodeStructs(field.message, part, parts)
      continue
    }
    const occurrences = values[localName] as Uint8Array[]
    if (field.fieldKind === "list") values[localName] = occurrences.map((one) => decodeStruct([one], parts))
    else values[localName] = occurrences.length === 0 ? undefined : decodeStruct(occurrences, parts)
  }
}

/** Returns the JSON of a message with empty Structs, and without those of a list. */
export function withEmptyStructs(desc: DescMessage, json: JsonValue): JsonValue {
  if (!isObject(json)) return json
  if (isStruct(desc)) return {}
  const changed: JsonObject = {}
  const emptied = ({ message }: MessageField, value: JsonValue) => {
    if (!Array.isArray(value)) return withEmptyStructs(message, value)
    return isStruct(message) && isListOfObjects(value) ? [] : value.map((item) => withEmptyStructs(message, item))
  }
  for (const field of ownFieldsOf(desc))
    for (const name of [field.name, field.jsonName])
      if (Object.hasOwn(json, name)) changed[name] = emptied(field, json[name] as JsonValue)
  return { ...json, ...changed } as JsonObject
}

/**
 * Returns what fromJson returns. Structs do not become messages first.
 *
 * @param empty The JSON `withEmptyStructs`.
 * @param registry The messages that google.protobuf.Any may contain. Default: none.
 */
export function messageOfJson<S extends DescMessage>(
  desc: S,
  json: JsonValue,
  empty: JsonValue,
  registry?: Registry,
): MessageShape<S> {
  // A misspelt name is an error, because it may be that of a field or value that restricts the call.
  const message = fromJson(desc, empty, { ignoreUnknownFields: false, ...(registry && { registry }) })
  fillStructs(desc, message, json as JsonObject)
  return message
}

function fillStructs(desc: DescMessage, message: object, json: JsonObject): void {
  const values = message as Record<string, unknown>
  for (const field of ownFieldsOf(desc)) {
    const { name, jsonName, localName } = field
    const value = json[jsonName] ?? json[name] ?? undefined
    if (value === undefined) continue
    if (isStruct(field.message)) values[localName] = value
    else {
      const parts = messagesIn(field, value) as JsonObject[]
      for (const [index, part] of messagesIn(field, values[localName]).entries())
        fillStructs(field.message, part, parts[index] as JsonObject)
    }
  }
}

/** Throws INVALID_FIELD if a Struct of a request cannot be carried to every client; see jsonFault. */
export function checkStructs(desc: DescMessage, message: object, path = ""): void {
  for (const field of structFieldsOf(desc))
    for (const [index, part] of messagesIn(field, partOf(message, field).value).entries()) {
      const fault = isStruct(field.message) ? jsonFault(part as JsonObject) : undefined
      if (fault === undefined && isStruct(field.message)) continue
      const at = `${path}${field.name}${field.fieldKind === "list" ? `[${index}]` : ""}`
      if (fault !== undefined) throw invalidField(at + fault.path, fault.rule)
      checkStructs(field.message, part, `${at}.`)
    }
}
