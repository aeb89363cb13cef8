import { inspect, isDeepStrictEqual } from "node:util"
import type { AdapterUser } from "@auth/core/adapters"
import {
  AccountSchema,
  CreateUserRequestSchema,
  GetSessionAndUserResponseSchema,
  LinkAccountRequestSchema,
  LinkAccountResponseSchema,
  UserSchema,
} from "@authwire/proto"
import { describe, expect, test } from "@jest/globals"
import fc from "fast-check"
import { account, authenticator, minimal, overTheWire, session, user } from "../../test/converted.js"
import * as convert from "./convert.js"
import { maxDepth } from "./extra.js"

const text = fc.string({ unit: "binary", maxLength: 12 })
const names = {
  user: ["id", "email", "emailVerified", "name", "image"],
  account: Object.keys(minimal.account).concat(
    ["access_token", "token_type", "id_token", "refresh_token", "scope"],
    ["expires_in", "expires_at", "authorization_details"],
  ),
  session: Object.keys(minimal.session),
  authenticator: Object.keys(minimal.authenticator).concat("transports"),
}
const json = fc.jsonValue({ stringUnit: "binary", maxDepth: 4 })
/** Generates properties that the contract does not name, with any keys, including `__proto__`. */
const extra = (named: string[]) =>
  fc
    .array(fc.tuple(fc.oneof(text, fc.constantFrom("__proto__", "constructor", "toString", "extra")), json), {
      maxLength: 6,
    })
    .map((entries) => Object.fromEntries(entries.filter(([key]) => !named.includes(key))))
const named = <T>(required: { [K in keyof T]: fc.Arbitrary<T[K]> }, optional: Record<string, fc.Arbitrary<unknown>>) =>
  fc.record({ ...required, ...optional }, { requiredKeys: Object.keys(required) as never })
const withExtra = (record: fc.Arbitrary<object>, keys: string[]) =>
  fc.tuple(record, extra(keys)).map(([fields, rest]) => ({ ...rest, ...fields }))
const nullable = (value: fc.Arbitrary<unknown>) => fc.option(value, { nil: null })
const date = fc.date({ noInvalidDate: true })
const double = fc.double({ noNaN: true, noDefaultInfinity: true })

describe("values are unchanged after conversion in both directions", () => {
  const roundTrip = (arbitrary: fc.Arbitrary<object>, there: (value: never) => object) =>
    fc.assert(
      fc.property(arbitrary, (value) => {
        // toStrictEqual would treat a property `constructor` as the type.
        const back = there(value as never)
        if (!isDeepStrictEqual(back, value)) throw new Error(`came back as ${inspect(back)}`)
      }),
      { numRuns: 300 },
    )

  test("any user", () => {
    const fields = named(
      { id: text, emailVerified: nullable(date) },
      { email: nullable(text), name: nullable(text), image: nullable(text) },
    )
    roundTrip(withExtra(fields, names.user), user)
  })

  test("any account", () => {
    const strings = ["access_token", "token_type", "id_token", "refresh_token", "scope"]
    const fields = named(
      {
        userId: text,
        type: fc.constantFrom("oauth", "oidc", "email", "webauthn"),
        provider: text,
        providerAccountId: text,
      },
      {
        ...Object.fromEntries(strings.map((name) => [name, nullable(text)])),
        expires_in: nullable(double),
        expires_at: nullable(double),
        authorization_details: nullable(fc.array(extra([]), { maxLength: 3 })),
      },
    )
    roundTrip(withExtra(fields, names.account), account)
  })

  test("any session", () => {
    roundTrip(withExtra(named({ sessionToken: text, userId: text, expires: date }, {}), names.session), session)
  })

  test("any authenticator", () => {
    const fields = named(
      {
        credentialID: text,
        userId: text,
        providerAccountId: text,
        credentialPublicKey: text,
        counter: fc.integer({ min: 0, max: 0xffff_ffff }),
        credentialDeviceType: text,
        credentialBackedUp: fc.boolean(),
      },
      { transports: nullable(text) },
    )
    roundTrip(withExtra(fields, names.authenticator), authenticator)
  })

  test("minus zero", () => {
    expect(user({ ...minimal.user, balance: -0 } as AdapterUser)).toHaveProperty("balance", -0)
    expect(account({ ...minimal.account, expires_in: -0 })).toHaveProperty("expires_in", -0)
  })

  test("extras of the maximum depth, in the most deeply nested responses", () => {
    let deep: unknown = 1
    for (let level = 0; level < maxDepth - 1; level++) deep = { a: deep }
    const wireUser = overTheWire(CreateUserRequestSchema, convert.userToWire({ deep } as never), UserSchema)
    const answer = { user: wireUser, session: { extra: { deep: wireUser.extra?.deep ?? null } } }
    const read = overTheWire(GetSessionAndUserResponseSchema, answer, GetSessionAndUserResponseSchema)
    expect(read.user?.extra).toEqual({ deep })
    const wireAccount = convert.accountToWire({ ...minimal.account, authorization_details: [{ deep }] as never })
    const linked = { account: overTheWire(LinkAccountRequestSchema, wireAccount, AccountSchema) }
    const again = overTheWire(LinkAccountResponseSchema, linked, LinkAccountResponseSchema)
    expect(again.account?.authorizationDetails?.items).toEqual([{ deep }])
  })
})
