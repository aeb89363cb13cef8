import { inspect } from "node:util"
import type { AdapterAccount, AdapterUser } from "@auth/core/adapters"
import { AccountSchema, LinkAccountRequestSchema, SessionSchema, UserSchema } from "@authwire/proto"
import { create, type DescMessage, ScalarType } from "@bufbuild/protobuf"
import { describe, expect, test } from "@jest/globals"
import { minimal, overTheWire, user } from "../../test/converted.js"
import * as convert from "./convert.js"
import { isDisabled } from "./disabled-users.js"

// A field that a conversion does not know would be sent in `extra`, where the service rejects it.
describe("every optional string field of the schema is converted as a separate property", () => {
  /** What the service adds. The objects of the adapter do not have it. */
  const ofTheService = ["etag"]
  const texts = (message: DescMessage) =>
    message.fields
      .filter((field) => field.scalar === ScalarType.STRING && field.proto.proto3Optional)
      .filter(({ name }) => !ofTheService.includes(name))
      .map((field) => [field.name, field.localName] as const)

  test.each(texts(UserSchema))("of a user: %s", (name, property) => {
    const given = { [property]: "x" }
    expect(convert.userToWire(given)).toMatchObject({ ...given, extra: undefined })
    expect(convert.userToWire({ [property]: null })).toMatchObject({
      [property]: undefined,
      extra: { [property]: null },
    })
    expect(convert.userUpdateToWire({ id: "u1", ...given })).toMatchObject({
      ...given,
      extra: undefined,
      updateMask: { paths: [name] },
    })
    expect(convert.userFromWire(create(UserSchema, { id: "u1", ...given }))).toMatchObject(given)
  })

  test.each(texts(AccountSchema))("of an account: %s", (property, field) => {
    const wire = convert.accountToWire({ ...minimal.account, [property]: "x" })
    expect(wire).toMatchObject({ [field]: "x", extra: undefined })
    expect(convert.accountToWire({ ...minimal.account, [property]: null }).extra).toEqual({ [property]: null })
    const answer = overTheWire(LinkAccountRequestSchema, wire, AccountSchema)
    expect(convert.accountFromWire(answer)).toEqual({ ...minimal.account, [property]: "x" })
  })

  test("what the service adds is not in the objects of the adapter, and keeps its name in them free", () => {
    const [added, extra] = [{ etag: "of the service" }, { etag: "of the application" }]
    expect(convert.userFromWire(create(UserSchema, { id: "u1", ...added }))).not.toHaveProperty("etag")
    expect(convert.userFromWire(create(UserSchema, { id: "u1", ...added, extra }))).toMatchObject(extra)
    expect(convert.userToWire(extra as never).extra).toEqual(extra)
  })
})

describe("userToWire", () => {
  test("distinguishes an absent property from null, and treats undefined as absent", () => {
    const wire = convert.userToWire({ id: "u1", emailVerified: null, name: null, image: undefined } as never)
    expect(wire).toMatchObject({ id: "u1", name: undefined, image: undefined, extra: { name: null } })
    expect(user({ id: "u1" })).toStrictEqual({ id: "u1", emailVerified: null })
    expect(user({ id: "u1", emailVerified: undefined, role: undefined } as never)).toStrictEqual({
      id: "u1",
      emailVerified: null,
    })
  })

  test("leaves out an id that is null, so that the service generates one", () => {
    expect(convert.userToWire({ id: null, email: "a" } as never)).toMatchObject({ id: undefined, extra: undefined })
  })

  test("named fields take precedence over extras of the same name", () => {
    const wire = create(UserSchema, { id: "u1", name: "Ada", extra: { id: "other", name: "Eve", emailVerified: true } })
    expect(convert.userFromWire(wire)).toStrictEqual({ id: "u1", name: "Ada", emailVerified: null })
  })
})

describe("updates", () => {
  test("userUpdateToWire lists the given properties in the mask; null has no value", () => {
    const given = {
      id: "u1",
      email: undefined,
      emailVerified: null,
      name: "Ada",
      image: null,
      role: "admin",
      x: undefined,
    }
    expect(convert.userUpdateToWire(given as never)).toEqual({
      id: "u1",
      email: undefined,
      emailVerified: undefined,
      name: "Ada",
      image: undefined,
      extra: { role: "admin" },
      updateMask: { paths: ["email_verified", "name", "image", "extra"] },
    })
  })

  test("the mask is empty without changes", () => {
    expect(convert.userUpdateToWire({ id: "u1" }).updateMask).toEqual({ paths: [] })
    expect(convert.sessionUpdateToWire({ sessionToken: "s" }).updateMask).toEqual({ paths: [] })
  })

  test("sessionUpdateToWire lists the given properties in the mask", () => {
    const given = { sessionToken: "s", expires: new Date(1), userId: undefined, device: null }
    expect(convert.sessionUpdateToWire(given as never)).toMatchObject({
      sessionToken: "s",
      userId: undefined,
      expires: { seconds: 0n, nanos: 1_000_000 },
      extra: { device: null },
      updateMask: { paths: ["expires", "extra"] },
    })
  })
})

describe("what Auth.js passes on as a provider has sent it", () => {
  test("ids, tokens and profiles that are integers become their decimal text", () => {
    const numbers = { access_token: 1, refresh_token: Number.MAX_SAFE_INTEGER, id_token: -1, scope: 0, token_type: 7n }
    const given = { ...minimal.account, providerAccountId: 12_345_678_901, ...numbers }
    expect(convert.accountToWire(given as unknown as AdapterAccount)).toMatchObject({
      providerAccountId: "12345678901",
      accessToken: "1",
      refreshToken: "9007199254740991",
      idToken: "-1",
      scope: "0",
      tokenType: "7",
    })
    expect(convert.userToWire({ ...minimal.user, name: 42 as never })).toMatchObject({ name: "42" })
  })

  test("a lifetime or an expiry is a number or its digits, and anything else is unknown", () => {
    for (const [given, expected] of [
      [3_600, 3_600],
      ["3600", 3_600],
      ["-1", -1],
      [Number.NaN, undefined],
      ["1 hour", undefined],
      ["0x10", undefined],
      [{}, undefined],
    ] as const) {
      const expiry = { expires_in: given, expires_at: given } as object
      const wire = convert.accountToWire({ ...minimal.account, ...expiry })
      expect([wire.expiresIn, wire.expiresAt]).toEqual([expected, expected])
    }
  })
})

describe("the error of a named property of the wrong type contains its name and rule", () => {
  const users = (fields: object) => () => convert.userToWire({ ...minimal.user, ...fields })
  const updates = (fields: object) => () => convert.userUpdateToWire({ id: "u1", ...fields })
  const accounts = (fields: object) => () => convert.accountToWire({ ...minimal.account, ...fields })
  const sessions = (fields: object) => () => convert.sessionToWire({ ...minimal.session, ...fields })
  const sessionUpdates = (fields: object) => () => convert.sessionUpdateToWire({ sessionToken: "s", ...fields })
  const authenticators = (fields: object) => () => convert.authenticatorToWire({ ...minimal.authenticator, ...fields })

  test.each([
    [users({ name: 1.5 }), "name must be a string"],
    [users({ email: {} }), "email must be a string"],
    [users({ image: "\ud800" }), "image must be well-formed Unicode"],
    [users({ id: 7 }), "id must be a string"],
    [users({ emailVerified: "2025-01-01T00:00:00Z" }), "emailVerified must be a Date"],
    [users({ emailVerified: new Date(Number.NaN) }), "emailVerified must be a valid Date"],
    [users({ role: 1n }), "extra.role must be a JSON value, not a bigint"],
    [updates({ id: undefined }), "id must be a string"],
    [updates({ name: false }), "name must be a string"],
    [sessions({ expires: "2025-01-01T00:00:00Z" }), "expires must be a Date"],
    [sessions({ expires: null }), "expires must be a Date"],
    [sessions({ userId: undefined }), "userId must be a string"],
    [sessionUpdates({ expires: null }), "expires must be a Date"],
    [sessionUpdates({ userId: null }), "userId must be a string"],
    [accounts({ type: "credentials" }), "type must be one of oauth, oidc, email, webauthn"],
    [accounts({ type: "constructor" }), "type must be one of oauth, oidc, email, webauthn"],
    [
      accounts({ providerAccountId: 2 ** 53 }),
      "providerAccountId must be a string, because an integer above 2^53 is not exact",
    ],
    [accounts({ access_token: Number.NaN }), "access_token must be a string"],
    [accounts({ access_token: true }), "access_token must be a string"],
    [accounts({ authorization_details: {} }), "authorization_details must be an array of objects"],
    [accounts({ authorization_details: [{}, "a"] }), "authorization_details[1] must be an object"],
    [
      accounts({ authorization_details: [{ a: [1n] }] }),
      "authorization_details[0].a[0] must be a JSON value, not a bigint",
    ],
    [authenticators({ counter: 1.5 }), "counter must be an integer from 0 to 4294967295"],
    [authenticators({ counter: -1 }), "counter must be an integer from 0 to 4294967295"],
    [authenticators({ counter: 2 ** 32 }), "counter must be an integer from 0 to 4294967295"],
    [authenticators({ counter: "1" }), "counter must be an integer from 0 to 4294967295"],
    [authenticators({ credentialBackedUp: 1 }), "credentialBackedUp must be a boolean"],
    [authenticators({ transports: ["usb"] }), "transports must be a string"],
  ])("%# %s", (convertIt, rule) => {
    expect(convertIt).toThrow(expect.objectContaining({ rawMessage: rule }))
  })
})

describe("a response that violates the schema causes an error", () => {
  test.each([
    [() => convert.userFromWire(undefined), "without a user"],
    [() => convert.sessionFromWire(undefined), "without a session"],
    [() => convert.sessionFromWire(create(SessionSchema, {})), "without expires"],
    [() => convert.accountFromWire(undefined), "without an account"],
    [() => convert.accountFromWire(create(AccountSchema, {})), "an account of a type that this client does not know"],
    [() => convert.verificationTokenFromWire(undefined), "without a verification token"],
    [() => convert.authenticatorFromWire(undefined), "without an authenticator"],
  ])("%# %s", (convertIt, what) => {
    expect(convertIt).toThrow(expect.objectContaining({ rawMessage: `the service answered ${what}` }))
  })
})

test("that a user is disabled is no property that a caller sees", () => {
  const wire = { id: "u1", email: "ada@example.com" }
  const [enabled, disabled] = [undefined, { reason: "spam" }].map((disabled) =>
    convert.userFromWire(create(UserSchema, { ...wire, disabled })),
  ) as [AdapterUser, AdapterUser]
  expect(disabled).toStrictEqual(enabled)
  expect(inspect(disabled)).toBe(inspect(enabled))
  expect([isDisabled(enabled), isDisabled(disabled), isDisabled({ ...disabled })]).toEqual([false, true, false])
})
