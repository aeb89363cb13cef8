import {
  AccountService,
  AuthenticatorService,
  IntrospectionService,
  PipelineService,
  SessionService,
  TokenService,
  UserService,
  VerificationTokenService,
} from "@authwire/proto"
import { Authorization } from "@authwire/proto/envoy"
import { Health } from "@authwire/proto/health"
import { ServerReflection } from "@authwire/proto/reflection/v1"
import { ServerReflection as ServerReflectionV1Alpha } from "@authwire/proto/reflection/v1alpha"
import {
  create,
  type DescField,
  type DescMessage,
  type DescMethod,
  type JsonObject,
  type JsonValue,
  type Message,
  type MessageInitShape,
  ScalarType,
} from "@bufbuild/protobuf"
import type { Random } from "../random.ts"

/**
 * Part of every text that is sent. No part of a request may appear in the log or in an error, so neither may contain
 * it.
 */
export const canary = "c4n4ry"

/** Every method of the service. */
export const methods: readonly DescMethod[] = [
  UserService,
  AccountService,
  SessionService,
  VerificationTokenService,
  AuthenticatorService,
  TokenService,
  IntrospectionService,
  Authorization,
  Health,
  ServerReflection,
  ServerReflectionV1Alpha,
  PipelineService,
].flatMap((service) => service.methods as readonly DescMethod[])

export const unaryMethods = methods.filter(({ methodKind }) => methodKind === "unary")

/** Returns the HTTP path of a method. */
export const pathOf = ({ parent, name }: DescMethod) => `/${parent.typeName}/${name}`

/** Returns the valid paths of an update mask: every field except the key, which comes first, and the mask itself. */
const maskPaths = ({ fields }: DescMessage) =>
  fields.slice(1).flatMap(({ name }) => (name === "update_mask" ? [] : [name]))

/**
 * Returns a message that mostly follows the rules of the schema and often refers to data that other requests have
 * created.
 */
export function randomMessage(random: Random, desc: DescMessage): Message {
  return create(desc, randomFields(random, desc, 0) as MessageInitShape<DescMessage>)
}

function randomFields(random: Random, desc: DescMessage, depth: number): Record<string, unknown> {
  const fields: Record<string, unknown> = {}
  for (const member of desc.members) {
    if (member.kind === "oneof") {
      const field = random.pick(member.fields)
      fields[member.localName] = { case: field.localName, value: randomValue(random, field, depth) }
    } else if (member.presence !== 1 || random.chance(0.85))
      fields[member.localName] = randomValue(random, member, depth)
  }
  return fields
}

function randomValue(random: Random, field: DescField, depth: number): unknown {
  const several = () => Array.from({ length: random.below(4) })
  switch (field.fieldKind) {
    case "scalar":
      return randomScalar(random, field, field.scalar)
    case "enum":
      return random.pick(field.enum.values.slice(1)).number
    case "message":
      return randomPart(random, field.parent, field.message, depth)
    case "list":
      if (field.listKind === "message")
        return several().map(() => randomPart(random, field.parent, field.message, depth))
      if (field.listKind === "scalar") return several().map(() => randomScalar(random, field, field.scalar))
      return several().map(() => 1)
    case "map":
      if (field.name === "context_extensions") return randomSettings(random)
      if (field.name === "headers") return randomHeaders(random)
      return field.mapKind === "scalar"
        ? Object.fromEntries(
            several().map(() => [`${canary}-${random.below(9)}`, randomScalar(random, field, field.scalar)]),
          )
        : {}
  }
}

/** Returns settings of a gateway. Most of them are valid. */
export function randomSettings(random: Random): Record<string, string> {
  const likely: Record<string, () => string> = {
    policy: () => random.pick(["required", "optional"]),
    roles: () => random.pick(["admin", `${canary}, admin`]),
    role_property: () => random.pick(["role", canary]),
    sign_in: () => random.pick(["/in", `https://${canary}.example/in?a=b`]),
    cookie: () => `${canary}.session`,
    headers: () => random.pick(["x-auth-email=email", `x-auth-a=${canary},x-auth-b=b`]),
    tenant: () => random.pick(["default", canary]),
  }
  const names = Object.keys(likely).filter(() => random.chance(0.3))
  const settings = names.map((name): [string, string] => [
    name,
    (random.chance(0.9) && likely[name]?.()) || random.pick(odd),
  ])
  return Object.fromEntries(random.chance(0.95) ? settings : [...settings, [random.pick(odd), canary]])
}

/** Returns headers of a browser's request, as a gateway forwards them. */
function randomHeaders(random: Random): Record<string, string> {
  const likely: Record<string, string> = {
    cookie: `authjs.session-token=${canary}-session_token-${random.below(2000)}`,
    authorization: `Bearer ${canary}-session_token-${random.below(2000)}`,
    accept: "text/html",
    "x-auth-user-id": canary,
    x_auth_user_id: canary,
    "x-forwarded-proto": random.pick(["https", canary]),
  }
  const names = Object.keys(likely).filter(() => random.chance(0.5))
  return Object.fromEntries(names.map((name) => [name, (random.chance(0.95) && likely[name]) || random.pick(odd)]))
}

function randomPart(random: Random, parent: DescMessage, desc: DescMessage, depth: number): unknown {
  if (depth > 5) return create(desc)
  if (desc.typeName === "google.protobuf.Timestamp") {
    return { seconds: BigInt(random.below(4e9)), nanos: random.below(1000) * 1_000_000 }
  }
  if (desc.typeName === "google.protobuf.Duration") {
    return { seconds: BigInt(random.below(4e9)), nanos: random.below(1000) * 1_000_000 }
  }
  if (desc.typeName === "google.protobuf.Struct") return randomObject(random, 0)
  if (desc.typeName === "google.protobuf.FieldMask") {
    return { paths: maskPaths(parent).filter(() => random.chance(0.5)) }
  }
  return create(desc, randomFields(random, desc, depth + 1) as MessageInitShape<DescMessage>)
}

function randomScalar(random: Random, field: DescField, type: ScalarType): unknown {
  switch (type) {
    case ScalarType.STRING:
      if (field.parent.typeName === "authwire.v1.Header") return randomHeaderText(random, field.name)
      return randomText(random, field.name)
    case ScalarType.BYTES:
      return random.bytes(random.below(60))
    case ScalarType.BOOL:
      return random.chance(0.5)
    case ScalarType.INT64:
    case ScalarType.UINT64:
    case ScalarType.SINT64:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return BigInt(random.below(2 ** 33))
    default:
      return field.name === "page_size" ? random.below(1001) : random.below(2 ** 31)
  }
}

function randomText(random: Random, name: string): string {
  // So few ids that most of them exist, and that no user has very much data.
  if (name === "id" || name === "user_id") return `${canary}-user-${random.below(400)}`
  // Only the service creates valid page tokens.
  if (name === "page_token" && random.chance(0.7)) return ""
  if (name === "service") return random.pick(["", "authwire.v1.UserService", canary])
  if (name === "file_containing_symbol") return random.pick(["authwire.v1.UserService", canary])
  if (name === "credential_public_key" || name === "counter") return `${canary}-key`
  if (name === "email" || name === "identifier") return `${canary}-${random.below(2000)}@example.com`
  if (random.chance(0.02)) return random.pick(odd)
  return `${canary}-${name}-${random.below(2000)}`
}

/**
 * Returns the name or value of a browser's request header, often with cookies of sessions that other requests may have
 * created.
 */
function randomHeaderText(random: Random, name: string): string {
  if (name === "name") return random.pick(["cookie", "Cookie", "authorization", canary])
  const token = () =>
    random.pick([
      randomText(random, "session_token"),
      `eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0..${canary}.${canary}.${canary}`,
      `${canary}%zz`,
      `....${canary}`,
      "",
    ])
  if (random.chance(0.2)) return `Bearer ${token()}`
  const prefix = () => random.pick(["", "", "__Secure-", "__Host-"])
  const chunk = () => random.pick(["", "", ".0", ".1", ".10", ".01", "."])
  const cookies = Array.from({ length: random.below(4) }, () => `${prefix()}authjs.session-token${chunk()}=${token()}`)
  return cookies.join(random.pick(["; ", "; ", ";", ";;", " "]))
}

/** Texts with a special meaning in some context. */
export const odd: readonly string[] = [
  "",
  "\u0000",
  "\ufeff\u202e\u{1f600}",
  "__proto__",
  "constructor",
  "' OR 1=1 --",
  "%00%s%n$(7*7)",
  "a".repeat(5000),
  "e\u0301\u200d",
  "\r\nset-cookie: x=1",
]

/** Returns an object for a google.protobuf.Struct. */
export function randomObject(random: Random, depth: number): JsonObject {
  const entries = Array.from({ length: random.below(4) }, () => [
    // Not the name of a property, because errors may contain those.
    random.chance(0.05) ? random.pick(odd) : `${canary}@${random.below(20)}`,
    randomJson(random, depth + 1),
  ])
  return Object.fromEntries(entries)
}

function randomJson(random: Random, depth: number): JsonValue {
  const kind = random.below(depth > 3 ? 4 : 6)
  if (kind === 0) return null
  if (kind === 1) return random.chance(0.5)
  if (kind === 2) return random.pick([0, -0, 1e308, 5e-324, 2 ** 53, random.below(1000)])
  if (kind === 3) return random.chance(0.1) ? random.pick(odd) : canary
  if (kind === 4) return Array.from({ length: random.below(3) }, () => randomJson(random, depth + 1))
  return randomObject(random, depth)
}
