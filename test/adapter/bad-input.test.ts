import {
  AccountService,
  AuthenticatorService,
  IntrospectionService,
  SessionPolicyService,
  SessionService,
  TokenService,
  UserService,
  VerificationTokenService,
} from "@authwire/proto"
import { BadRequestSchema, ErrorInfoSchema } from "@authwire/proto/rpc/error_details"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { breachesOf, brokenRequest, contractNames, unruledFields } from "@authwire/test-support/schema/breaches.js"
import { type DescMethodUnary, getOption } from "@bufbuild/protobuf"
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { beforeAll, describe, expect, test } from "@jest/globals"
import { field as fieldRules } from "../../gen/ts/src/buf/validate/validate_pb.js"

const services = [
  UserService,
  AccountService,
  SessionService,
  VerificationTokenService,
  AuthenticatorService,
  IntrospectionService,
  TokenService,
  SessionPolicyService,
]
const methods = services.flatMap((service) => service.methods as DescMethodUnary[])

const breaches = methods.flatMap(breachesOf)

/** The filters of lists that no index serves together with the others. */
const filtersOfOtherIndexes: Record<string, object> = {
  ListUsers: {
    emailPrefix: undefined,
    namePrefix: undefined,
    provider: undefined,
    lastSeenSince: undefined,
    disabled: undefined,
  },
  ListSessions: { allUsers: false, ip: undefined, impersonated: false },
}

describe("every rule of the schema is enforced, and the error names the field", () => {
  const authwire = useAuthwire("sqlite")
  let transport: Transport
  beforeAll(async () => {
    transport = createGrpcTransport({ baseUrl: authwire.server.grpcUrl })
  })

  test("S-31: the schema has a rule for every field of every request except flags, counters and free structs", () => {
    expect(methods.flatMap(({ input }) => unruledFields(input))).toEqual([
      "CreateUserRequest.provisional",
      "UpdateUserRequest.revoke_sessions_on_email_change",
      "DisableUserRequest.await_caches",
      "ListUsersRequest.disabled",
      "ListUsersRequest.newest_first",
      "LinkAccountRequest.authorization_details",
      "UnlinkAccountRequest.revoke_sessions",
      "ListAccountsByUserRequest.include_tokens",
      "GetAccessTokenRequest.force",
      "DeleteSessionRequest.await_caches",
      "ListSessionsRequest.active",
      "ListSessionsRequest.all_users",
      "ListSessionsRequest.impersonated",
      "CountSessionsRequest.active",
      "GetLogoutUrlRequest.sign_in",
      "RevokeSessionRequest.await_caches",
      "RevokeUserSessionsRequest.await_caches",
      "RevokeSessionsRequest.await_caches",
      "RevokeAllSessionsRequest.await_caches",
      "CreateAuthenticatorRequest.counter",
      "CreateAuthenticatorRequest.credential_backed_up",
      "UpdateAuthenticatorCounterRequest.new_counter",
      "IntrospectRequest.secure_cookie",
      "IntrospectRequest.with_user",
      "IntrospectRequest.next_auth4",
      "EncodeRequest.payload",
      "EncodeRequest.next_auth4",
      "DecodeRequest.next_auth4",
      "GetTokenRequest.secure_cookie",
      "GetTokenRequest.raw",
      "GetTokenRequest.next_auth4",
      "UpdateSessionPolicyRequest.await_caches",
    ])
  })

  test.each(breaches.map((breach) => [`${breach.method.name}: ${breach.field} ${breach.rule}`, breach] as const))(
    "%s",
    async (_, breach) => {
      const { method, field } = breach
      const request = brokenRequest(method, breach)
      const error = await call(transport, method, request).then(
        () => "the service took the request, so the schema does not have this rule",
        (caught: unknown) => caught,
      )
      expect(error).toBeInstanceOf(ConnectError)
      const { code, rawMessage } = error as ConnectError
      expect(Code[code]).toBe("InvalidArgument")
      const violations = (error as ConnectError).findDetails(BadRequestSchema)[0]?.fieldViolations ?? []
      // An item of a list is named with its index.
      expect(violations.map((violation) => violation.field.replace(/\[\d+\]$/, ""))).toContain(field)
      expect(rawMessage).toContain(field)
      expect((error as ConnectError).findDetails(ErrorInfoSchema)[0]).toMatchObject({
        reason: "INVALID_FIELD",
        domain: "authwire",
      })
    },
  )

  test.each(methods.map((method) => [method.name, method] as const))(
    "%s accepts the valid request",
    async (_, method) => {
      const request = { ...brokenRequest(method), ...(filtersOfOtherIndexes[method.name] ?? {}) }
      const error = await call(transport, method, request).catch((caught) => caught)
      if (error instanceof ConnectError) expect(Code[error.code]).not.toBe("InvalidArgument")
    },
  )

  // A field that the mask cannot name can never be changed, and neither can one that services/wire.ts does not map.
  test.each([[UserService.method.updateUser] as const, [SessionService.method.updateSession] as const])(
    "$name: update_mask accepts every field but the key",
    async (method: DescMethodUnary) => {
      const {
        update_mask: mask,
        revoke_sessions_on_email_change: _,
        etag: _etag,
        ...fields
      } = Object.fromEntries(method.input.fields.map((one) => [one.name, one]))
      const rules = getOption(mask as NonNullable<typeof mask>, fieldRules).type
      const paths = rules.case === "fieldMask" ? rules.value.in : []
      const [, ...others] = Object.keys(fields)
      expect([...paths].sort()).toEqual(others.sort())
      for (const path of paths) {
        const request = { ...brokenRequest(method), updateMask: { paths: [path] } }
        const error = await call(transport, method, request).catch((caught) => caught)
        expect([path, Code[(error as ConnectError).code]]).toEqual([path, "NotFound"])
      }
    },
  )

  test.each(["user_id", "expires"])("UpdateSession: %s missing though update_mask names it", async (field) => {
    const sessions = createClient(SessionService, transport)
    const error = await sessions
      .updateSession({ sessionToken: "t", updateMask: { paths: [field] } })
      .catch((caught) => caught)
    expect(Code[(error as ConnectError).code]).toBe("InvalidArgument")
    expect((error as ConnectError).findDetails(BadRequestSchema)[0]?.fieldViolations[0]?.field).toBe(field)
  })

  // The rules of the schema compare seconds first, and so accept these values.
  test.each([1_000_000_000, 2_147_483_647, -1])("a timestamp with %i nanos is rejected", async (nanos) => {
    const moment = { seconds: 253_402_300_798n, nanos }
    const [users, sessions] = [UserService, SessionService].map((service) =>
      createClient(service as typeof UserService & typeof SessionService, transport),
    )
    const calls = {
      email_verified: users?.createUser({ emailVerified: moment }),
      expires: sessions?.createSession({ sessionToken: "t", userId: "u", expires: moment }),
      created_since: users?.listUsers({ createdSince: moment }),
    }
    for (const [field, call] of Object.entries(calls)) {
      const error: ConnectError = await (call as Promise<never>).catch((caught) => caught)
      expect(error).toMatchObject({ code: Code.InvalidArgument })
      expect(error.findDetails(BadRequestSchema)[0]?.fieldViolations).toMatchObject([{ field }])
    }
  })

  test("extra over 65,536 bytes as JSON is rejected, extra at the limit is accepted", async () => {
    const user = (blob: string) => ({ id: crypto.randomUUID(), extra: { blob } })
    const users = createClient(UserService, transport)
    const frame = JSON.stringify({ blob: "" }).length
    await users.createUser(user("x".repeat(65_536 - frame)))
    await expect(users.createUser(user("x".repeat(65_537 - frame)))).rejects.toMatchObject({
      code: Code.InvalidArgument,
      rawMessage: expect.stringContaining("extra"),
    })
  })

  // A read returns such nulls, if a field was null and not absent, or was written by other means than a call.
  test.each(
    methods.filter(({ input }) => input.field.extra !== undefined).map((method) => [method.name, method] as const),
  )("%s accepts nulls of its fields in extra", async (_, method) => {
    const extra = Object.fromEntries(contractNames(method.input).map((name) => [name, null]))
    const end = await call(transport, method, { ...brokenRequest(method), extra }).then(
      () => "OK",
      (error: ConnectError) => Code[error.code],
    )
    expect(end).toMatch(/^(OK|NotFound|AlreadyExists|Aborted)$/)
  })
})

function call(transport: Transport, method: DescMethodUnary, request: object): Promise<unknown> {
  const client = createClient(method.parent, transport) as unknown as Record<
    string,
    (request: unknown) => Promise<unknown>
  >
  return (client[method.localName] as (request: unknown) => Promise<unknown>)(request)
}
