import {
  AccountService,
  AuthenticatorService,
  SessionService,
  UserService,
  VerificationTokenService,
} from "@authwire/proto"
import { BadRequestSchema, ErrorInfoSchema } from "@authwire/proto/rpc/error_details"
import type { DescField, DescMessage, DescMethodUnary, JsonObject, JsonValue } from "@bufbuild/protobuf"
import { getOption, hasOption } from "@bufbuild/protobuf"
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect"
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { type FieldRules, field as fieldRules } from "../gen/ts/src/buf/validate/validate_pb.js"
import { type Authwire, startAuthwire } from "./support/authwire.js"

const services = [UserService, AccountService, SessionService, VerificationTokenService, AuthenticatorService]
const methods = services.flatMap((service) => service.methods as DescMethodUnary[])

// Every way to break a rule of the schema, derived from the rules themselves.
interface Breach {
  method: DescMethodUnary
  field: string
  rule: string
  value: JsonValue | undefined
}
const breaches = methods.flatMap((method) =>
  method.input.fields.flatMap((field) =>
    broken(field).map(({ rule, value }): Breach => ({ method, field: field.name, rule, value })),
  ),
)

describe("every rule of the schema is enforced, and the error names the field", () => {
  let authwire: Authwire
  const transports: Record<string, Transport> = {}
  beforeAll(async () => {
    authwire = await startAuthwire("sqlite")
    transports.grpc = createGrpcTransport({ baseUrl: authwire.server.grpcUrl })
    transports.http = createConnectTransport({
      baseUrl: authwire.server.httpUrl,
      httpVersion: "1.1",
      useBinaryFormat: true,
    })
  })
  afterAll(() => authwire.close())

  test("the schema has rules to break: every field of every request but flags, counters and free structs", () => {
    const unruled = methods.flatMap(({ input }) =>
      input.fields.filter((field) => broken(field).length === 0).map((field) => `${input.name}.${field.name}`),
    )
    expect(unruled).toEqual([
      "LinkAccountRequest.authorization_details",
      "CreateAuthenticatorRequest.counter",
      "CreateAuthenticatorRequest.credential_backed_up",
      "UpdateAuthenticatorCounterRequest.new_counter",
    ])
  })

  test.each(breaches.map((breach) => [`${breach.method.name}: ${breach.field} ${breach.rule}`, breach] as const))(
    "%s",
    async (_, { method, field, value }) => {
      const request = validRequest(method.input)
      if (value === undefined) delete request[field]
      else request[field] = value
      for (const [door, transport] of Object.entries(transports)) {
        const error = await call(transport, method, request).catch((caught: unknown) => caught as ConnectError)
        expect(error).toBeInstanceOf(ConnectError)
        const { code, rawMessage } = error as ConnectError
        expect({ door, code: Code[code] }).toEqual({ door, code: "InvalidArgument" })
        const violations = (error as ConnectError).findDetails(BadRequestSchema)[0]?.fieldViolations ?? []
        expect(violations.map((violation) => violation.field)).toContain(field)
        expect(rawMessage).toContain(field)
        expect((error as ConnectError).findDetails(ErrorInfoSchema)[0]).toMatchObject({
          reason: "INVALID_FIELD",
          domain: "authwire",
        })
      }
    },
  )

  test.each(methods.map((method) => [method.name, method] as const))(
    "%s takes the valid request",
    async (_, method) => {
      const error = await call(transports.grpc as Transport, method, validRequest(method.input)).catch(
        (caught) => caught,
      )
      if (error instanceof ConnectError) expect(Code[error.code]).not.toBe("InvalidArgument")
    },
  )

  test.each(["user_id", "expires"])("UpdateSession: %s missing though update_mask names it", async (field) => {
    const sessions = createClient(SessionService, transports.grpc as Transport)
    const error = await sessions
      .updateSession({ sessionToken: "t", updateMask: { paths: [field] } })
      .catch((caught) => caught)
    expect(Code[(error as ConnectError).code]).toBe("InvalidArgument")
    expect((error as ConnectError).findDetails(BadRequestSchema)[0]?.fieldViolations[0]?.field).toBe(field)
  })

  test("extra over 65,536 bytes as JSON is refused, at the limit it is not", async () => {
    const user = (blob: string) => ({ id: crypto.randomUUID(), extra: { blob } })
    const users = createClient(UserService, transports.grpc as Transport)
    const frame = JSON.stringify({ blob: "" }).length
    await users.createUser(user("x".repeat(65_536 - frame)))
    await expect(users.createUser(user("x".repeat(65_537 - frame)))).rejects.toMatchObject({
      code: Code.InvalidArgument,
      rawMessage: expect.stringContaining("extra"),
    })
  })
})

function call(transport: Transport, method: DescMethodUnary, request: JsonObject): Promise<unknown> {
  const client = createClient(method.parent, transport) as unknown as Record<
    string,
    (request: unknown) => Promise<unknown>
  >
  return (client[method.localName] as (request: unknown) => Promise<unknown>)(fromPlain(method.input, request))
}

// Requests are written with the names of the schema; the client takes camel case and bigint.
function fromPlain(message: DescMessage, request: JsonObject): Record<string, unknown> {
  const result: Record<string, unknown> = {}
  for (const field of message.fields) {
    const value = request[field.name]
    if (value === undefined) continue
    const isTimestamp = field.message?.typeName === "google.protobuf.Timestamp"
    const timestamp = value as { seconds: number; nanos: number }
    result[field.localName] = isTimestamp ? { ...timestamp, seconds: BigInt(timestamp.seconds) } : value
  }
  return result
}

function validRequest(message: DescMessage): JsonObject {
  const request: JsonObject = {}
  for (const field of message.fields) {
    if (field.fieldKind === "scalar" && typeof field.scalar === "number" && isString(field))
      request[field.name] = "valid"
    else if (field.fieldKind === "enum") request[field.name] = 1
    else if (field.message?.typeName === "google.protobuf.Timestamp")
      request[field.name] = { seconds: 4_000_000_000, nanos: 0 }
    else if (field.message?.typeName === "google.protobuf.FieldMask") request[field.name] = { paths: ["extra"] }
  }
  return request
}

function isString(field: DescField): boolean {
  return rulesOf(field)?.type.case === "string"
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
        // The limit is in bytes: half as many characters of two bytes, and one more.
        found.push({ rule: "too long in bytes", value: "é".repeat(Number(maxBytes) / 2 + 1) })
      }
      if (maxLen > 0n) found.push({ rule: "too long", value: "a".repeat(Number(maxLen) + 1) })
      if (notContains !== "") found.push({ rule: "with NUL", value: `a${notContains}b` })
      break
    }
    case "timestamp": {
      const { greaterThan, lessThan } = rules.type.value
      if (greaterThan.case === "gte") {
        found.push({ rule: "too early", value: { seconds: Number(greaterThan.value.seconds) - 1, nanos: 0 } })
      }
      if (lessThan.case === "lte") {
        found.push({ rule: "too late", value: { seconds: Number(lessThan.value.seconds) + 1, nanos: 0 } })
      }
      break
    }
    case "enum":
      if (rules.type.value.definedOnly) found.push({ rule: "undefined value", value: 99 })
      break
    case "fieldMask":
      found.push({ rule: "unknown path", value: { paths: ["id"] } }, { rule: "wild card", value: { paths: ["*"] } })
      found.push({ rule: "path below a field", value: { paths: ["extra.role"] } })
      break
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

// What the contract calls the fields of a request (camel case, but for the fields of a token endpoint's answer).
function contractNames(message: DescMessage): string[] {
  const asTheyAre =
    /^(access_token|token_type|id_token|refresh_token|scope|expires_in|expires_at|authorization_details)$/
  return message.fields
    .filter(({ name }) => name !== "extra" && name !== "update_mask")
    .map(({ name, jsonName }) => (asTheyAre.test(name) ? name : jsonName.replace(/^credentialId$/, "credentialID")))
}
