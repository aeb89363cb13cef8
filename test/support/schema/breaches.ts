import type { DescField, DescMessage, DescMethodUnary, JsonObject, JsonValue } from "@bufbuild/protobuf"
import { getOption, hasOption } from "@bufbuild/protobuf"
import { type FieldRules, field as fieldRules } from "../../../gen/ts/src/buf/validate/validate_pb.js"

/** A violation of a rule of the schema. */
export interface Breach {
  method: DescMethodUnary
  /** The name of the field, or the path of a field within a message of the schema: `extend.max_age`. */
  field: string
  rule: string
  /** The violating value. undefined: the field is absent. */
  value: JsonValue | undefined
}

/** Returns a violation of every rule of a method's request, derived from the rules themselves. */
export function breachesOf(method: DescMethodUnary): Breach[] {
  return brokenFields(method.input).map((breach) => ({ method, ...breach }))
}

function brokenFields(message: DescMessage): Omit<Breach, "method">[] {
  return message.fields.flatMap((field) => [
    ...broken(field).map((breach) => ({ field: field.name, ...breach })),
    ...partsOf(field).map(({ field: inner, ...breach }) => ({ field: `${field.name}.${inner}`, ...breach })),
  ])
}

/** The violations within a required field whose message belongs to the schema. */
function partsOf(field: DescField): Omit<Breach, "method">[] {
  return isOurs(field) && rulesOf(field)?.required ? brokenFields(field.message) : []
}

function isOurs(field: DescField): field is Extract<DescField, { fieldKind: "message" }> {
  return field.fieldKind === "message" && field.message.typeName.startsWith("authwire.")
}

/** Returns the fields of a request that have no rule that a value could violate. */
export function unruledFields(message: DescMessage): string[] {
  return message.fields.filter((field) => broken(field).length === 0).map((field) => `${message.name}.${field.name}`)
}

/** A request with these violations that is otherwise valid. */
export function brokenRequest(method: DescMethodUnary, ...breaches: Breach[]): Record<string, unknown> {
  const request = validRequest(method.input)
  for (const { field, value } of breaches) {
    const steps = field.split(".")
    const name = steps.pop() as string
    const part = steps.reduce((within, step) => within[step] as JsonObject, request)
    if (value === undefined) delete part[name]
    else part[name] = value
  }
  return fromPlain(method.input, request)
}

// Requests are written with the names of the schema; the client uses camel case and bigint.
function fromPlain(message: DescMessage, request: JsonObject): Record<string, unknown> {
  const result: Record<string, unknown> = {}
  for (const field of message.fields) {
    const value = request[field.name]
    if (value === undefined) continue
    const isTime = /^google\.protobuf\.(Timestamp|Duration)$/.test(field.message?.typeName ?? "")
    const time = value as { seconds: number; nanos: number }
    if (isOurs(field)) result[field.localName] = fromPlain(field.message, value as JsonObject)
    else result[field.localName] = isTime ? { ...time, seconds: BigInt(time.seconds) } : value
  }
  return result
}

function validRequest(message: DescMessage): JsonObject {
  const request: JsonObject = {}
  for (const field of message.fields) {
    // Only the service can create a valid token.
    if (field.name === "page_token") continue
    if (field.fieldKind === "scalar" && typeof field.scalar === "number" && isString(field))
      request[field.name] = isUri(field) ? "https://valid.example/" : "valid"
    else if (field.fieldKind === "list" && minItemsOf(field) > 0) request[field.name] = ["valid"]
    else if (field.fieldKind === "enum") request[field.name] = 1
    // It must not be in the future.
    else if (field.name === "created_before") request[field.name] = { seconds: 1_000_000_000, nanos: 0 }
    else if (field.message?.typeName === "google.protobuf.Timestamp")
      request[field.name] = { seconds: 4_000_000_000, nanos: 0 }
    else if (field.message?.typeName === "google.protobuf.Duration")
      request[field.name] = { seconds: Math.max(60, shortestOf(field)), nanos: 0 }
    else if (isOurs(field) && rulesOf(field)?.required) request[field.name] = validRequest(field.message)
    else if (field.message?.typeName === "google.protobuf.FieldMask") request[field.name] = { paths: [pathOf(field)] }
  }
  return request
}

function isString(field: DescField): boolean {
  return rulesOf(field)?.type.case === "string"
}

function isUri(field: DescField): boolean {
  const type = rulesOf(field)?.type
  return type?.case === "string" && type.value.wellKnown.case === "uri"
}

function minItemsOf(field: DescField): number {
  const type = rulesOf(field)?.type
  return type?.case === "repeated" ? Number(type.value.minItems) : 0
}

/** A path that the field accepts: `extra`, or its first one. */
function pathOf(field: DescField): string {
  const type = rulesOf(field)?.type
  const paths = type?.case === "fieldMask" ? type.value.in : []
  return paths.find((path) => path === "extra") ?? String(paths[0])
}

function shortestOf(field: DescField): number {
  const type = rulesOf(field)?.type
  return type?.case === "duration" && type.value.greaterThan.case === "gte"
    ? Number(type.value.greaterThan.value.seconds)
    : 0
}

function rulesOf(field: DescField): FieldRules | undefined {
  return hasOption(field, fieldRules) ? getOption(field, fieldRules) : undefined
}

function broken(field: DescField): { rule: string; value: JsonValue | undefined }[] {
  const rules = rulesOf(field)
  if (rules === undefined) return []
  const found: { rule: string; value: JsonValue | undefined }[] = []
  if (rules.required) found.push({ rule: "missing", value: undefined })
  switch (rules.type.case) {
    case "string": {
      const { minBytes, minLen, maxBytes, maxLen, notContains } = rules.type.value
      if (minBytes > 0n || minLen > 0n) {
        if (field.presence !== 1) found.push({ rule: "missing", value: undefined })
        found.push({ rule: "empty", value: "" })
      }
      if (maxBytes > 0n) {
        found.push({ rule: "too long", value: "a".repeat(Number(maxBytes) + 1) })
        // The limit is in bytes: the value has half as many characters of two bytes each, plus one.
        found.push({ rule: "too long in bytes", value: "é".repeat(Number(maxBytes) / 2 + 1) })
      }
      if (maxLen > 0n) found.push({ rule: "too long", value: "a".repeat(Number(maxLen) + 1) })
      if (isUri(field)) for (const value of ["/path", "javascript:alert(1)"]) found.push({ rule: `of ${value}`, value })
      if (notContains !== "") found.push({ rule: "with NUL", value: `a${notContains}b` })
      break
    }
    case "timestamp":
    case "duration": {
      const { greaterThan, lessThan } = rules.type.value
      const [low, high] = rules.type.case === "timestamp" ? ["too early", "too late"] : ["too short", "too long"]
      if (greaterThan.case === "gte") {
        found.push({ rule: low, value: { seconds: Number(greaterThan.value.seconds) - 1, nanos: 0 } })
      }
      if (lessThan.case === "lte") {
        found.push({ rule: high, value: { seconds: Number(lessThan.value.seconds) + 1, nanos: 0 } })
      }
      break
    }
    case "int32":
    case "uint32": {
      const { greaterThan, lessThan } = rules.type.value
      if (greaterThan.case === "gte") found.push({ rule: "too small", value: greaterThan.value - 1 })
      if (lessThan.case === "lte") found.push({ rule: "too large", value: lessThan.value + 1 })
      break
    }
    case "enum":
      if (rules.type.value.definedOnly) found.push({ rule: "undefined value", value: 99 })
      break
    case "fieldMask":
      found.push({ rule: "unknown path", value: { paths: ["id"] } }, { rule: "wild card", value: { paths: ["*"] } })
      found.push({ rule: "path below a field", value: { paths: ["extra.role"] } })
      break
    case "repeated": {
      const one = field.message === undefined ? "valid" : validRequest(field.message)
      const items = Array.from({ length: Number(rules.type.value.maxItems) + 1 }, () => one)
      found.push({ rule: "too many", value: items })
      if (minItemsOf(field) > 0) found.push({ rule: "too few", value: [] })
      if (field.message === undefined) found.push({ rule: "with an empty one", value: ["valid", ""] })
      break
    }
    case "double":
      if (rules.type.value.finite) {
        for (const value of [Number.NaN, Number.POSITIVE_INFINITY]) found.push({ rule: String(value), value })
      }
      break
  }
  for (const { id } of rules.cel) {
    if (id === "extra.contract_names") {
      for (const name of contractNames(field.parent)) {
        found.push({ rule: `with ${name}`, value: { [name]: "value" } })
      }
    }
  }
  return found
}

/** The names of the request's fields in the adapter contract: camel case, except for those of a token endpoint's response. */
export function contractNames(message: DescMessage): string[] {
  const asTheyAre =
    /^(access_token|token_type|id_token|refresh_token|scope|expires_in|expires_at|authorization_details)$/
  // These fields control the call, and are no properties.
  const others = ["extra", "update_mask", "provisional", "revoke_sessions_on_email_change", "etag"]
  // A session of Auth.js has no such properties. If an application adds one, it is stored in `extra`.
  if (message.name === "CreateSessionRequest")
    others.push("ip", "user_agent", "auth_method", "provider", "impersonator", "provider_session_id")
  return message.fields
    .filter(({ name }) => !others.includes(name))
    .map(({ name, jsonName }) => (asTheyAre.test(name) ? name : jsonName.replace(/^credentialId$/, "credentialID")))
}
