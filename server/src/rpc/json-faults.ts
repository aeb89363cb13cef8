import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type DescOneof,
  fromJson,
  type JsonValue,
  ScalarType,
} from "@bufbuild/protobuf"
import { hasCustomJsonRepresentation, isWrapperDesc } from "@bufbuild/protobuf/wkt"
import type { FieldViolation } from "../errors/failure.js"
import { isObject } from "../util/json.js"

/** The largest number of faults that are reported. They travel in a header. */
const maxFaults = 20

/**
 * The length of the longest message in which faults are searched, in bytes. The largest user with an image fits into it. The search
 * takes up to three times as long as the reading of the same message.
 */
export const maxSearched = 384 * 1024

/**
 * Returns what cannot be read in a message in JSON: the path of each field, and the rule that its value breaks. Empty if
 * nothing is found. No value, no key of a map and no unusual name is repeated: it may be a secret.
 */
export function jsonFaults(message: DescMessage, json: JsonValue): FieldViolation[] {
  return faultsIn(message, json, "").take(maxFaults).toArray()
}

type Faults = Generator<FieldViolation, void>

/** @param path The path of the message within the request; empty for the request itself. */
function* faultsIn(message: DescMessage, json: JsonValue, path: string): Faults {
  const here = path === "" ? "request" : path
  if (!isObject(json)) {
    yield { field: here, description: "must be an object" }
    return
  }
  const seen = new Set<DescField | DescOneof>()
  for (const [name, value] of Object.entries(json)) {
    const field = message.fields.find((one) => one.name === name || one.jsonName === name)
    if (field === undefined) {
      yield { field: here, description: unknownName(message, name) }
      continue
    }
    const at = path === "" ? field.name : `${path}.${field.name}`
    const reads = (one: JsonValue) => canRead(message, { [name]: one })
    if (seen.has(field)) yield { field: at, description: "must not be set twice" }
    else if (field.oneof !== undefined && seen.has(field.oneof)) {
      const others = field.oneof.fields.filter((one) => one !== field).map((one) => one.name)
      yield { field: at, description: `must not be set together with ${others.join(", ")}` }
    } else if (!reads(value)) yield* faultsOf(field, value, at, reads)
    seen.add(field)
    if (field.oneof !== undefined && value !== null) seen.add(field.oneof)
  }
}

type Reads = (value: JsonValue) => boolean

/** @param reads Whether a value of the field can be read. */
function* faultsOf(field: DescField, value: JsonValue, at: string, reads: Reads): Faults {
  if (field.fieldKind === "list") {
    if (!Array.isArray(value)) yield { field: at, description: "must be an array" }
    else
      for (const [index, one] of value.entries()) if (!reads([one])) yield* faultsOfOne(field, one, `${at}[${index}]`)
  } else if (field.fieldKind === "map") {
    if (!isObject(value)) yield { field: at, description: "must be an object" }
    else {
      // A key is data of the caller, so that the path names only the map.
      for (const [key, one] of Object.entries(value)) if (!reads({ [key]: one })) yield* faultsOfOne(field, one, at)
    }
  } else yield* faultsOfOne(field, value, at)
}

function* faultsOfOne(field: DescField, value: JsonValue, at: string): Faults {
  const rule = jsonRule(field, value)
  if (value === null) yield { field: at, description: "must not be null" }
  else if (rule === undefined) yield* faultsIn(field.message as DescMessage, value, at)
  else yield { field: at, description: rule }
}

function canRead(message: DescMessage, json: JsonValue): boolean {
  try {
    fromJson(message, json, { ignoreUnknownFields: false })
    return true
  } catch {
    return false
  }
}

/** A name is told only if it consists of words, as misspelled names do. Another may be anything, perhaps a token. */
function unknownName({ typeName }: DescMessage, name: string): string {
  return name.length <= 60 && /^[a-z]+(?:_[a-z]+){0,5}$/i.test(name)
    ? `has the field ${name}, which ${typeName} does not have`
    : `has a field that ${typeName} does not have`
}

/** The largest number of values of an enum that a rule lists. */
const listedValues = 10

/**
 * Returns the rule for one value of a field in JSON, or of an element of a list or map, if it is read as a whole.
 * Undefined for a message whose fields are read one by one.
 *
 * @param value The value that breaks the rule.
 */
function jsonRule(field: DescField, value: JsonValue): string | undefined {
  if (field.message !== undefined) return messageRule(field.message, value)
  if (field.enum !== undefined) return enumRule(field.enum)
  return scalarRule(field.scalar as ScalarType, value)
}

const messageRules: Readonly<Record<string, string>> = {
  "google.protobuf.Timestamp": 'must be a time with a zone, as in "2026-01-31T23:59:59Z", of the years 1 to 9999',
  "google.protobuf.Duration": 'must be a string of seconds, as in "3600s" or "0.5s", at most "315576000000s"',
  "google.protobuf.FieldMask":
    'must be a string of names in lower camel case with commas between them, as in "name,emailVerified"',
  "google.protobuf.Struct": "must be an object",
  "google.protobuf.ListValue": "must be an array",
}

function messageRule(message: DescMessage, value: JsonValue): string | undefined {
  if (isWrapperDesc(message)) return scalarRule(message.fields[0].scalar, value)
  if (!hasCustomJsonRepresentation(message)) return undefined
  return messageRules[message.typeName] ?? `must be a well-formed ${message.typeName}`
}

function enumRule({ typeName, values }: DescEnum): string {
  const names = values.map(({ name }) => name).filter((name) => !name.endsWith("UNSPECIFIED"))
  return names.length > listedValues ? `must be a name in ${typeName}` : `must be one of ${names.join(", ")}`
}

const integers = (from: bigint, to: bigint) => `must be an integer from ${from} to ${to}`
const int32 = integers(-(2n ** 31n), 2n ** 31n - 1n)
const uint32 = integers(0n, 2n ** 32n - 1n)
const int64 = integers(-(2n ** 63n), 2n ** 63n - 1n)
const uint64 = integers(0n, 2n ** 64n - 1n)

const scalarRules: Readonly<Record<ScalarType, string>> = {
  [ScalarType.BOOL]: "must be true or false",
  [ScalarType.STRING]: "must be a string",
  [ScalarType.BYTES]: "must be a string in Base64",
  [ScalarType.DOUBLE]: "must be a number",
  [ScalarType.FLOAT]: "must be a number of 32 bits",
  [ScalarType.INT32]: int32,
  [ScalarType.SINT32]: int32,
  [ScalarType.SFIXED32]: int32,
  [ScalarType.UINT32]: uint32,
  [ScalarType.FIXED32]: uint32,
  [ScalarType.INT64]: int64,
  [ScalarType.SINT64]: int64,
  [ScalarType.SFIXED64]: int64,
  [ScalarType.UINT64]: uint64,
  [ScalarType.FIXED64]: uint64,
}

function scalarRule(scalar: ScalarType, value: JsonValue): string {
  if (scalar === ScalarType.STRING && typeof value === "string") return "must be well-formed Unicode"
  return scalarRules[scalar]
}
