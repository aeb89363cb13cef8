import { type DescEnum, type DescField, type DescMessage, type JsonValue, ScalarType } from "@bufbuild/protobuf"
import { hasCustomJsonRepresentation, isWrapperDesc } from "@bufbuild/protobuf/wkt"

/** The largest number of values of an enum that a rule lists. */
const listedValues = 10

/**
 * Returns the rule for one value of a field in JSON, or of an element of a list or map, if it is read as a whole.
 * Undefined for a message whose fields are read one by one.
 *
 * @param value The value that breaks the rule.
 */
export function jsonRule(field: DescField, value: JsonValue): string | undefined {
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
