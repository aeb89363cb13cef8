import type { Adapter } from "@auth/core/adapters"
import {
  AccountService,
  AccountType,
  AuthenticatorService,
  SessionService,
  UserService,
  VerificationTokenService,
} from "@authwire/proto"
import { BadRequestSchema, ErrorInfoSchema } from "@authwire/proto/rpc/error_details"
import { timestampFromDate } from "@bufbuild/protobuf/wkt"
import { Code, ConnectError, type ConnectRouter, createRouterTransport } from "@connectrpc/connect"
import { describe, expect, test } from "@jest/globals"
import { AuthwireAdapter, type AuthwireAdapterMethods, type AuthwireError, createAuthwireClient } from "../index.js"

const url = "http://authwire.test:50051"
const expires = new Date("2030-01-01T00:00:00.123Z")

const user = { id: "u1", email: "Ada@example.com", emailVerified: null, name: "Ada", role: "admin" }
const account = {
  userId: "u1",
  type: "oidc",
  provider: "google",
  providerAccountId: "7",
  token_type: "bearer",
  refresh_token: null,
  session_state: "x",
} as const
const session = { sessionToken: "s1", userId: "u1", expires }
const verificationToken = { identifier: "ada@example.com", token: "t1", expires }
const authenticator = {
  credentialID: "Y3JlZA==",
  userId: "u1",
  providerAccountId: "7",
  credentialPublicKey: "a2V5",
  counter: 3,
  credentialDeviceType: "multiDevice",
  credentialBackedUp: true,
  transports: "usb,nfc",
}

const wire = {
  user: { id: "u1", email: "Ada@example.com", name: "Ada", extra: { role: "admin" } },
  account: {
    userId: "u1",
    type: AccountType.OIDC,
    provider: "google",
    providerAccountId: "7",
    tokenType: "bearer",
    extra: { session_state: "x", refresh_token: null },
  },
  session: { sessionToken: "s1", userId: "u1", expires: timestampFromDate(expires) },
  verificationToken: { identifier: "ada@example.com", token: "t1", expires: timestampFromDate(expires) },
  authenticator: {
    credentialId: "Y3JlZA==",
    userId: "u1",
    providerAccountId: "7",
    credentialPublicKey: "a2V5",
    counter: 3,
    credentialDeviceType: "multiDevice",
    credentialBackedUp: true,
    transports: "usb,nfc",
  },
}

/** For every method: a call, and its result if the service finds the record. */
const methods: {
  [K in keyof Required<Adapter>]: { call: (a: AuthwireAdapterMethods) => Promise<unknown>; gives: unknown }
} = {
  createUser: { call: ({ createUser }) => createUser(user), gives: user },
  getUser: { call: ({ getUser }) => getUser("u1"), gives: user },
  getUserByEmail: { call: ({ getUserByEmail }) => getUserByEmail("ada@example.com"), gives: user },
  getUserByAccount: { call: ({ getUserByAccount }) => getUserByAccount(account), gives: user },
  updateUser: { call: ({ updateUser }) => updateUser({ id: "u1", name: null }), gives: user },
  deleteUser: { call: ({ deleteUser }) => deleteUser("u1"), gives: user },
  linkAccount: { call: ({ linkAccount }) => linkAccount(account as never), gives: account },
  unlinkAccount: { call: ({ unlinkAccount }) => unlinkAccount(account), gives: account },
  getAccount: { call: ({ getAccount }) => getAccount("7", "google"), gives: account },
  createSession: { call: ({ createSession }) => createSession(session), gives: session },
  getSessionAndUser: { call: ({ getSessionAndUser }) => getSessionAndUser("s1"), gives: { session, user } },
  updateSession: { call: ({ updateSession }) => updateSession({ sessionToken: "s1", expires }), gives: session },
  deleteSession: { call: ({ deleteSession }) => deleteSession("s1"), gives: session },
  createVerificationToken: {
    call: ({ createVerificationToken }) => createVerificationToken(verificationToken),
    gives: verificationToken,
  },
  useVerificationToken: {
    call: ({ useVerificationToken }) => useVerificationToken(verificationToken),
    gives: verificationToken,
  },
  createAuthenticator: { call: ({ createAuthenticator }) => createAuthenticator(authenticator), gives: authenticator },
  getAuthenticator: { call: ({ getAuthenticator }) => getAuthenticator("Y3JlZA=="), gives: authenticator },
  listAuthenticatorsByUserId: {
    call: ({ listAuthenticatorsByUserId }) => listAuthenticatorsByUserId("u1"),
    gives: [authenticator],
  },
  updateAuthenticatorCounter: {
    call: ({ updateAuthenticatorCounter }) => updateAuthenticatorCounter("Y3JlZA==", 4),
    gives: authenticator,
  },
}
const names = Object.keys(methods) as (keyof Adapter)[]

/** The result of each method whose record does not exist, by its error reason. The other methods throw. */
const absences = {
  getUser: ["USER_NOT_FOUND", null],
  getUserByEmail: ["USER_NOT_FOUND", null],
  getUserByAccount: ["USER_NOT_FOUND", null],
  deleteUser: ["USER_NOT_FOUND", null],
  unlinkAccount: ["ACCOUNT_NOT_FOUND", undefined],
  getAccount: ["ACCOUNT_NOT_FOUND", null],
  getSessionAndUser: ["SESSION_NOT_FOUND", null],
  updateSession: ["SESSION_NOT_FOUND", null],
  deleteSession: ["SESSION_NOT_FOUND", null],
  useVerificationToken: ["VERIFICATION_TOKEN_NOT_FOUND", null],
  getAuthenticator: ["AUTHENTICATOR_NOT_FOUND", null],
} as const
const reasons = [...new Set(Object.values(absences).map(([reason]) => reason))]

/** Creates a service whose methods all succeed with fixed responses, or all fail. */
function routes(failure?: () => ConnectError, log: { method: string; request: unknown; header: Headers }[] = []) {
  const always =
    <T>(answer: T) =>
    (request: unknown, context: { method: { name: string }; requestHeader: Headers }) => {
      log.push({ method: context.method.name, request, header: context.requestHeader })
      if (failure) throw failure()
      return answer
    }
  return ({ service }: ConnectRouter) => {
    const one = always({ user: wire.user })
    service(UserService, {
      createUser: one,
      getUser: one,
      getUserByEmail: one,
      getUserByAccount: one,
      updateUser: one,
      deleteUser: one,
    })
    const linked = always({ account: wire.account })
    service(AccountService, { linkAccount: linked, unlinkAccount: linked, getAccount: linked })
    const signedIn = always({ session: wire.session, user: wire.user })
    service(SessionService, {
      createSession: signedIn,
      getSessionAndUser: signedIn,
      updateSession: signedIn,
      deleteSession: signedIn,
    })
    const mailed = always({ verificationToken: wire.verificationToken })
    service(VerificationTokenService, { createVerificationToken: mailed, useVerificationToken: mailed })
    const passkey = always({ authenticator: wire.authenticator })
    service(AuthenticatorService, {
      createAuthenticator: passkey,
      getAuthenticator: passkey,
      listAuthenticatorsByUserId: always({ authenticators: [wire.authenticator] }),
      updateAuthenticatorCounter: passkey,
    })
  }
}

const adapterOver = (...options: Parameters<typeof routes>) =>
  AuthwireAdapter({ url, transport: createRouterTransport(routes(...options)) })

const failure =
  (code: Code, reason?: string, domain = "authwire") =>
  () =>
    new ConnectError("said no", code, undefined, reason ? [{ desc: ErrorInfoSchema, value: { domain, reason } }] : [])

const caught = (call: Promise<unknown>): Promise<AuthwireError> =>
  call.then(
    () => Promise.reject(new Error("nothing was thrown")),
    (error: AuthwireError) => error,
  )

test("exactly the 19 methods of the contract", () => {
  expect(names).toHaveLength(19)
  expect(Object.keys(AuthwireAdapter({ url })).sort()).toEqual([...names].sort())
})

describe.each(names)("%s", (name) => {
  const { call, gives } = methods[name]

  test("returns the service's response, and needs no `this`", async () => {
    expect(await call(adapterOver())).toStrictEqual(gives)
  })

  test.each(reasons)("when the service reports %s", async (reason) => {
    const [absence, nothing] = absences[name as keyof typeof absences] ?? []
    const answer = call(adapterOver(failure(Code.NotFound, reason)))
    if (reason === absence) expect(await answer).toBe(nothing)
    else expect(await caught(answer)).toMatchObject({ code: "NOT_FOUND", reason, method: name })
  })

  test.each([
    ["NOT_FOUND of a proxy", failure(Code.NotFound), "NOT_FOUND"],
    ["NOT_FOUND of another domain", failure(Code.NotFound, absences.getUser[0], "mesh.test"), "NOT_FOUND"],
    ["an outage", failure(Code.Unavailable), "UNAVAILABLE"],
    ["an outage of the database", failure(Code.Unavailable, "DATABASE_UNAVAILABLE"), "UNAVAILABLE"],
    ["a time-out", failure(Code.DeadlineExceeded, "STATEMENT_TIMEOUT"), "DEADLINE_EXCEEDED"],
    ["a rejection", failure(Code.Unauthenticated), "UNAUTHENTICATED"],
    ["an older service", failure(Code.Unimplemented), "UNIMPLEMENTED"],
    ["a failure", failure(Code.Internal, "INTERNAL"), "INTERNAL"],
  ])("throws at %s", async (_, fail, code) => {
    const error = await caught(call(adapterOver(fail)))
    expect(error).toMatchObject({ name: "AuthwireError", code, method: name })
    expect(error.message).toMatch(new RegExp(`^${name}: ${code}: `))
    expect(`${JSON.stringify(error)} ${error.stack}`).not.toMatch(/ada@example\.com|s1\b|t1\b/i)
  })
})

describe("requests to the service", () => {
  const sent = async (call: (adapter: AuthwireAdapterMethods) => Promise<unknown>) => {
    const log: { method: string; request: unknown }[] = []
    await call(adapterOver(undefined, log as never))
    expect(log).toHaveLength(1)
    return log[0]
  }

  test("getAccount takes the account's id first, then the provider", async () => {
    expect(await sent(methods.getAccount.call)).toMatchObject({
      method: "GetAccount",
      request: { provider: "google", providerAccountId: "7" },
    })
  })

  test.each([
    ["getUser", ({ getUser }: AuthwireAdapterMethods) => getUser(undefined as never), "id must be a string"],
    ["getUserByEmail", ({ getUserByEmail }) => getUserByEmail("\ud800"), "email must be well-formed Unicode"],
    [
      "getUserByAccount",
      ({ getUserByAccount }) => getUserByAccount({ provider: "p" } as never),
      "providerAccountId must be",
    ],
    ["deleteSession", ({ deleteSession }) => deleteSession(null as never), "sessionToken must be a string"],
    ["updateAuthenticatorCounter", (a) => a.updateAuthenticatorCounter("c", -1), "newCounter must be an integer"],
    [
      "createUser",
      ({ createUser }) => createUser({ ...user, x: [Number.NaN] } as never),
      "extra.x[0] must be a finite number",
    ],
  ] as [string, (a: AuthwireAdapterMethods) => Promise<unknown>, string][])(
    "%s does not send an invalid value",
    async (method, call, rule) => {
      const log: never[] = []
      const error = await caught(call(adapterOver(undefined, log)))
      expect(error).toMatchObject({ code: "INVALID_ARGUMENT", method, reason: "INVALID_FIELD" })
      expect(error.message).toContain(`${method}: INVALID_ARGUMENT: ${rule}`)
      expect(error.fieldViolations).toHaveLength(1)
      expect(log).toEqual([])
    },
  )

  test("contain apiKey and headers; headers of a call take precedence", async () => {
    const log: { header: Headers }[] = []
    const transport = createRouterTransport(routes(undefined, log as never))
    const { adapter, users } = createAuthwireClient({ url, transport, apiKey: "k1", headers: { "X-Tenant": "a" } })
    await adapter.getUser("u1")
    await users.getUser({ id: "u1" }, { headers: { "x-tenant": "b" } })
    expect(log.map(({ header }) => [header.get("authorization"), header.get("x-tenant")])).toEqual([
      ["Bearer k1", "a"],
      ["Bearer k1", "b"],
    ])
  })
})

describe("createAuthwireClient", () => {
  test("has a typed client of each service, whose errors carry details", async () => {
    const fail = () =>
      new ConnectError("", Code.InvalidArgument, undefined, [
        { desc: ErrorInfoSchema, value: { domain: "authwire", reason: "INVALID_FIELD" } },
        { desc: BadRequestSchema, value: { fieldViolations: [{ field: "id", description: "too long" }] } },
      ])
    const { users, adapter } = createAuthwireClient({ url, transport: createRouterTransport(routes(fail)) })
    const fieldViolations = [{ field: "id", description: "too long" }]
    expect(await caught(users.getUser({ id: "u1" }))).toMatchObject({ method: "users.getUser", fieldViolations })
    expect(await caught(adapter.getUser("u1"))).toMatchObject({ method: "getUser", fieldViolations })
  })
})
