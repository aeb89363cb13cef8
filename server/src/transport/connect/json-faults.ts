import { type DescField, type DescMessage, type DescOneof, fromJson, type JsonValue } from "@bufbuild/protobuf"
import type { FieldViolation } from "../../errors/failure.js"
import { jsonFault } from "../../rpc/json.js"
import { jsonRule } from "./json-rules.js"

/** The largest number of faults that are reported. They travel in a header. */
const maxFaults = 20

/**
 * The length of the longest text that is searched, in characters. The largest user with an image fits into it. The search
 * takes up to three times as long as the reading of the same text.
 */
const maxLength = 384 * 1024

/**
 * Returns what cannot be read in a message in JSON: the path of each field, and the rule that its value breaks. Empty if
 * nothing is found, or the text is too long. No value, no key of a map and no unusual name is repeated: it may be a secret.
 */
export function jsonFaults(message: DescMessage, text: string): FieldViolation[] {
  if (text.length > maxLength) return []
  let json: JsonValue
  try {
    json = JSON.parse(text) as JsonValue
  } catch {
    return [{ field: "request", description: "is not well-formed JSON" }]
  }
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
  else {
    const fault = isObject(value) ? jsonFault(value) : undefined
    yield { field: at + (fault?.path ?? ""), description: fault?.rule ?? rule }
  }
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

function isObject(value: JsonValue): value is { [key: string]: JsonValue } {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
