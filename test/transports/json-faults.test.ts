import * as schema from "@authwire/proto"
import { Authorization } from "@authwire/proto/envoy"
import { Health } from "@authwire/proto/health"
import { ServerReflection } from "@authwire/proto/reflection/v1"
import {
  type DescField,
  type DescMessage,
  type DescMethod,
  type DescService,
  type JsonValue,
  ScalarType,
} from "@bufbuild/protobuf"
import { EmptySchema, hasCustomJsonRepresentation } from "@bufbuild/protobuf/wkt"
import { expect, test } from "@jest/globals"
import { FieldRulesSchema, StringRulesSchema } from "../../gen/ts/src/buf/validate/validate_pb.js"
import { toFailure } from "../../server/src/errors/failure.js"
import { codecOf } from "../../server/src/rpc/codec.js"

const {
  CreateSessionRequestSchema: session,
  CreateUserRequestSchema: user,
  LinkAccountRequestSchema: account,
  ListUsersRequestSchema: users,
  PipelineRequestSchema: pipeline,
  UpdateSessionPolicyRequestSchema: policy,
  UpdateUserRequestSchema: update,
  WatchRequestSchema: watch,
} = schema

/** Decodes a request in JSON as a method does that has no other rules. Returns the violations, empty if it can be read. */
function faultsIn(input: DescMessage, text: string) {
  const { decodeJson } = codecOf({ input, output: EmptySchema } as unknown as DescMethod, async () => {})
  try {
    decodeJson(Buffer.from(text))
    return []
  } catch (error) {
    return toFailure(error).violations
  }
}
const faultsOf = (message: DescMessage, json: JsonValue) => faultsIn(message, JSON.stringify(json))

const time = 'must be a time with a zone, as in "2026-01-31T23:59:59Z", of the years 1 to 9999'
const seconds = 'must be a string of seconds, as in "3600s" or "0.5s", at most "315576000000s"'
const mask = 'must be a string of names in lower camel case with commas between them, as in "name,emailVerified"'
const int32 = "must be an integer from -2147483648 to 2147483647"
const uint32 = "must be an integer from 0 to 4294967295"
const int64 = "must be an integer from -9223372036854775808 to 9223372036854775807"
const uint64 = "must be an integer from 0 to 18446744073709551615"
/** What no error may repeat. */
const secret = "canary"

/** The fields of every kind, with values that break their rules. */
const table: readonly [DescMessage, json: JsonValue, path: string, rule: string][] = [
  ...[secret, "2026-01-31T12:00:00", "2026-01-31", "2026-02-31T25:00:00Z", "0000-01-01T00:00:00Z", 1_700_000_000].map(
    (wrong) => [user, { emailVerified: wrong }, "email_verified", time] as [DescMessage, JsonValue, string, string],
  ),
  [user, { email_verified: { seconds: 1 } }, "email_verified", time],
  ...[secret, 60, "60", "s", "1.1234567890s", "315576000001s", true].map(
    (wrong) => [policy, { maxAge: wrong }, "max_age", seconds] as [DescMessage, JsonValue, string, string],
  ),
  [update, { updateMask: "email_verified" }, "update_mask", mask],
  [update, { updateMask: [secret] }, "update_mask", mask],
  [update, { updateMask: { paths: ["name"] } }, "update_mask", mask],
  [user, { extra: secret }, "extra", "must be an object"],
  [user, { extra: [] }, "extra", "must be an object"],
  [user, { extra: nested(110) }, `extra${".a".repeat(31)}.a`, "must not be nested deeper than 32 levels"],
  [
    policy,
    { atLimit: secret },
    "at_limit",
    "must be one of SESSION_LIMIT_ACTION_END_OLDEST, SESSION_LIMIT_ACTION_REJECT_NEW",
  ],
  [policy, { atLimit: 1.5 }, "at_limit", expect.stringMatching(/^must be one of /) as unknown as string],
  [watch, { kinds: ["EVENT_KIND_USER_CREATED", secret] }, "kinds[1]", "must be a name in authwire.v1.EventKind"],
  [watch, { kinds: [null] }, "kinds[0]", "must not be null"],
  [watch, { kinds: "EVENT_KIND_USER_CREATED" }, "kinds", "must be an array"],
  [user, { id: 1 }, "id", "must be a string"],
  [user, { id: { canary: secret } }, "id", "must be a string"],
  [user, { name: "\ud800" }, "name", "must be well-formed Unicode"],
  [users, { disabled: "true" }, "disabled", "must be true or false"],
  [users, { pageSize: secret }, "page_size", expect.stringMatching(/^must be an integer /) as unknown as string],
  [policy, { maxSessions: -1 }, "max_sessions", uint32],
  [policy, { maxSessions: "4294967296" }, "max_sessions", uint32],
  [policy, { maxSessions: 0.5 }, "max_sessions", uint32],
  [account, { expiresIn: secret }, "expires_in", "must be a number"],
  [account, { authorizationDetails: [{}] }, "authorization_details", "must be an object"],
  [account, { authorizationDetails: { items: [{}, secret] } }, "authorization_details.items[1]", "must be an object"],
  [account, { authorizationDetails: { items: {} } }, "authorization_details.items", "must be an array"],
  [pipeline, { calls: [{ id: 1 }, { message: "%canary" }] }, "calls[1].message", "must be a string in Base64"],
  [pipeline, { calls: [{ header: { canary: 1 } }] }, "calls[0].header", "must be a string"],
  [pipeline, { calls: [{ header: { canary: null } }] }, "calls[0].header", "must not be null"],
  [pipeline, { calls: [{ header: [secret] }] }, "calls[0].header", "must be an object"],
  [pipeline, { calls: [secret] }, "calls[0]", "must be an object"],
  [pipeline, { calls: [{}, { a: 1 }] }, "calls[1]", "has the field a, which authwire.v1.PipelineCall does not have"],
  [pipeline, { cancelledIds: [1, secret] }, "cancelled_ids[1]", uint32],
  // Kinds that no request has yet.
  [FieldRulesSchema, { int32: { const: 2 ** 31 } }, "int32.const", int32],
  [FieldRulesSchema, { sint32: { const: secret } }, "sint32.const", int32],
  [FieldRulesSchema, { sfixed32: { const: [] } }, "sfixed32.const", int32],
  [FieldRulesSchema, { fixed32: { const: -1 } }, "fixed32.const", uint32],
  [FieldRulesSchema, { int64: { in: ["9223372036854775807", "9223372036854775808"] } }, "int64.in[1]", int64],
  [FieldRulesSchema, { sint64: { const: secret } }, "sint64.const", int64],
  [FieldRulesSchema, { sfixed64: { const: 0.5 } }, "sfixed64.const", int64],
  [FieldRulesSchema, { uint64: { const: "-1" } }, "uint64.const", uint64],
  [FieldRulesSchema, { fixed64: { const: "18446744073709551616" } }, "fixed64.const", uint64],
  [FieldRulesSchema, { float: { const: 1e300 } }, "float.const", "must be a number of 32 bits"],
  [FieldRulesSchema, { double: { in: [1, true] } }, "double.in[1]", "must be a number"],
  [FieldRulesSchema, { bytes: { const: "%" } }, "bytes.const", "must be a string in Base64"],
  [StringRulesSchema, { email: true, uri: true }, "uri", expect.stringMatching(/together with email,/) as never],
  // The whole request.
  [user, secret, "request", "must be an object"],
  [user, [], "request", "must be an object"],
  [user, null, "request", "must be an object"],
  [user, { emailVerified: null, email_verified: null }, "email_verified", "must not be set twice"],
]

test.each(table)("%s: %j is rejected, with the path and the rule", (message, json, field, description) => {
  const faults = faultsOf(message, json)
  expect(faults).toEqual([{ field, description }])
  expect(JSON.stringify(faults)).not.toContain(secret)
})

test("text that is no JSON is rejected as such", () => {
  for (const text of ["", "{", '{"id": canary}', "{'id': 1}"])
    expect(faultsIn(user, text)).toEqual([{ field: "request", description: "is not well-formed JSON" }])
})

test("an unknown field is named if its name consists of words, and otherwise only the message that lacks it", () => {
  for (const name of ["emial", "email_adress", "emailVerifiedAt"])
    expect(faultsOf(user, { [name]: "a" })).toEqual([
      { field: "request", description: `has the field ${name}, which authwire.v1.CreateUserRequest does not have` },
    ])
  const others = ['a" is unknown', "", "a b", "é", "awk_3f9a", "a".repeat(61), "0", "__proto__", "constructor.name"]
  for (const name of others)
    expect([name, faultsOf(user, JSON.parse(`{${JSON.stringify(name)}: 1}`))]).toEqual([
      name,
      [{ field: "request", description: "has a field that authwire.v1.CreateUserRequest does not have" }],
    ])
})

test("all faults of a request are told, but no more than fit into a header", () => {
  expect(faultsOf(session, { expires: 1, sessionToken: 1, userId: "u", ip: false }).map(({ field }) => field)).toEqual([
    "expires",
    "session_token",
    "ip",
  ])
  expect(faultsOf(watch, { kinds: Array.from({ length: 10_000 }, () => secret) })).toHaveLength(20)
})

test("a long request is searched only if users send such ones", () => {
  const image = "x".repeat(262_144)
  expect(faultsOf(user, { image, emailVerified: 1 })).toEqual([{ field: "email_verified", description: time }])
  const description = "is not a well-formed authwire.v1.CreateUserRequest"
  expect(faultsOf(user, { image, name: image, emailVerified: 1 })).toEqual([{ field: "request", description }])
})

test("nothing is found in a request that can be read", () => {
  const expires = "2026-01-31T12:00:00.5+02:00"
  expect(faultsOf(session, { expires, extra: { a: [null, { b: 1 }] }, ip: null, user_id: "u" })).toEqual([])
})

/** A value of the wrong type for a field. */
function wrongFor(field: DescField): JsonValue {
  if (field.fieldKind === "list") return secret
  if (field.fieldKind === "map") return [secret]
  if (field.scalar === ScalarType.STRING) return 1
  return field.message !== undefined && !hasCustomJsonRepresentation(field.message) ? secret : [secret]
}

test("every field of every request has a rule, at any depth", () => {
  const exported: unknown[] = [...Object.values(schema), Authorization, Health, ServerReflection]
  const services = exported.filter(
    (one): one is DescService => typeof one === "object" && one !== null && "kind" in one && one.kind === "service",
  )
  const seen = new Set<DescMessage>()
  let fields = 0
  const walk = (message: DescMessage) => {
    if (seen.has(message) || hasCustomJsonRepresentation(message)) return
    seen.add(message)
    for (const field of message.fields) {
      fields++
      const faults = faultsOf(message, { [field.jsonName]: wrongFor(field) })
      expect(faults).toEqual([{ field: field.name, description: expect.stringMatching(/^must (?!be a well-formed)/) }])
      if (field.message !== undefined) walk(field.message)
    }
  }
  for (const { methods } of services) for (const { input } of methods) walk(input)
  expect(fields).toBeGreaterThan(200)
})

function nested(levels: number): JsonValue {
  return levels === 0 ? 1 : { a: nested(levels - 1) }
}
