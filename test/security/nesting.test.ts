import { AccountService, AuthenticatorService, SessionService, TokenService, UserService } from "@authwire/proto"
import { BadRequestSchema } from "@authwire/proto/rpc/error_details"
import { http1Options } from "@authwire/test-support/connections/http1.js"
import { type Authwire, startAuthwire } from "@authwire/test-support/processes/authwire.js"
import type { DescMethodUnary, JsonObject, JsonValue } from "@bufbuild/protobuf"
import { Code, ConnectError, type Transport } from "@connectrpc/connect"
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

// Stored data must be readable in every language. Decoders of protobuf accept 100 nested messages, and each level of an
// object takes three. Those of Java, Python and Rust so read 32 levels, which test/examples/languages.test.ts shows.

const deepest = 32
const place = (levels: number) => ".a".repeat(levels)

/** Returns this many nested objects. */
function objects(levels: number): JsonObject {
  let value: JsonValue = 1
  for (let level = 0; level < levels; level++) value = { a: value }
  return value as unknown as JsonObject
}

const user = { id: "ada" }
const account = { userId: "ada", type: 1, provider: "p", providerAccountId: "a" }
const session = { sessionToken: "s", userId: "ada", expires: { seconds: 4_000_000_000n } }
const authenticator = {
  credentialId: "c",
  userId: "ada",
  providerAccountId: "a",
  credentialPublicKey: "k",
  credentialDeviceType: "d",
}
const mask = { updateMask: { paths: ["extra"] } }
const cases: [field: string, method: DescMethodUnary, request: (value: JsonObject) => Record<string, unknown>][] = [
  ["extra", UserService.method.createUser, (extra) => ({ ...user, extra })],
  ["extra", UserService.method.updateUser, (extra) => ({ ...user, ...mask, extra })],
  ["extra", AccountService.method.linkAccount, (extra) => ({ ...account, extra })],
  [
    "authorization_details.items[1]",
    AccountService.method.linkAccount,
    (item) => ({ ...account, authorizationDetails: { items: [{}, item] } }),
  ],
  ["extra", SessionService.method.createSession, (extra) => ({ ...session, extra })],
  ["extra", SessionService.method.updateSession, (extra) => ({ sessionToken: "s", ...mask, extra })],
  ["extra", AuthenticatorService.method.createAuthenticator, (extra) => ({ ...authenticator, extra })],
  ["payload", TokenService.method.encode, (payload) => ({ payload, salt: "salt" })],
]

describe("objects and lists may be nested 32 levels deep, and no deeper", () => {
  let authwire: Authwire
  const transports: Transport[] = []
  beforeAll(async () => {
    authwire = await startAuthwire("sqlite")
    transports.push(createGrpcTransport({ baseUrl: authwire.server.grpcUrl }))
    transports.push(
      createConnectTransport({ ...http1Options, baseUrl: authwire.server.httpUrl, useBinaryFormat: false }),
    )
  })
  afterAll(() => authwire.close())

  const call = (
    transport: Transport,
    method: DescMethodUnary,
    request: Record<string, unknown>,
  ): Promise<ConnectError | undefined> =>
    transport.unary(method, undefined, undefined, undefined, request).then(
      () => undefined,
      (error: unknown) => ConnectError.from(error),
    )

  test.each(cases)("%s of %s", async (field, method, request) => {
    for (const transport of transports) {
      const taken = await call(transport, method, request(objects(deepest)))
      expect(Code[taken?.code ?? 0]).not.toBe("InvalidArgument")
      for (const value of [objects(deepest + 1), { a: [objects(deepest - 1)] }]) {
        const rejected = await call(transport, method, request(value))
        expect(Code[rejected?.code ?? 0]).toBe("InvalidArgument")
        const path = Array.isArray(value.a) ? `.a[0]${place(deepest - 2)}` : place(deepest)
        expect(rejected?.findDetails(BadRequestSchema)[0]?.fieldViolations).toMatchObject([
          { field: field + path, description: "must not be nested deeper than 32 levels" },
        ])
      }
    }
  })
})
