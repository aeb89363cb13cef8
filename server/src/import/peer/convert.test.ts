import { expect, test } from "@jest/globals"
import type { BulkName } from "../../store/sql/index.js"
import { convert } from "./convert.js"
import { RawRow } from "./raw-row.js"
import { jsonReader, kindOfType } from "./values.js"

/** Converts a row with these values, each in a column that is named after its property. */
function converted<N extends BulkName>(name: N, values: Record<string, unknown>, type = "text") {
  const names = Object.keys(values)
  const columns = names.map((field) => ({
    ...{ name: field, field, type, maxLength: undefined, folds: false },
    ...{ json: jsonReader(type), kind: kindOfType(type) },
  }))
  const raw = new RawRow(columns, Object.values(values), "Z")
  const row = convert[name](raw, "default", false)
  return { row, faults: raw.faults.map(({ detail }) => detail), conversions: raw.conversions.map(({ what }) => what) }
}

const faultsOf = (...given: Parameters<typeof converted>) => converted(...given).faults

const authenticator = {
  credentialID: "c",
  userId: "u",
  providerAccountId: "p",
  credentialPublicKey: "k",
  credentialDeviceType: "singleDevice",
  credentialBackedUp: 1,
}

test.each([0, "7", 4_294_967_295, 4_294_967_295n])("the counter of an authenticator may be %p", (counter) => {
  expect(faultsOf("authenticators", { ...authenticator, counter })).toEqual([])
})

test.each([-1, "-1", 1.5, 4_294_967_296, "4294967296", "many"])(
  "the counter of an authenticator cannot be %p",
  (counter) => {
    const rule = "counter must be an integer from 0 to 4294967295"
    expect(faultsOf("authenticators", { ...authenticator, counter })).toEqual([rule])
  },
)

const account = { userId: "u", type: "oauth", provider: "p", providerAccountId: "a" }

test.each(["[]", '[{"type":"a"},{}]'])("the authorization details of an account may be %s", (authorization_details) => {
  expect(faultsOf("accounts", { ...account, authorization_details })).toEqual([])
})

test.each(['{"type":"a"}', '["a"]', "[null]", "[[]]", "[{},1]", "none"])(
  "the authorization details of an account cannot be %s",
  (authorization_details) => {
    const rule = "authorization_details must be a JSON array of objects"
    expect(faultsOf("accounts", { ...account, authorization_details })).toEqual([rule])
  },
)

test.each([
  [1_893_456_000, "integer", []],
  ["1893456000", "bigint", []],
  ["1893456000", "text", ["text → number"]],
  ["2030-01-01 00:00:00.9", "timestamp(3)", ["date → number"]],
  ["2030-01-01 00:00:00+00", "timestamp with time zone", ["date → number"]],
  ["2030-01-01", "date", ["date → number"]],
  ["2030-01-01T00:00:00.000Z", "text", ["text → number"]],
  // SQLite stores what a driver makes of a Date.
  [1_893_456_000_000, "datetime", []],
])("an account that expires at %p of type %s does so at the same second", (expires_at, type, conversions) => {
  const { row, faults, conversions: noted } = converted("accounts", { ...account, expires_at }, type)
  expect([row.expires_at, faults]).toEqual([1_893_456_000, []])
  expect(noted).toEqual(expect.arrayContaining(conversions))
})

test.each(["soon", "0000-00-00 00:00:00"])("an account cannot expire at %s", (expires_at) => {
  const rule = "expires_at must be a number of seconds or a date"
  expect(faultsOf("accounts", { ...account, expires_at })).toEqual([rule])
})
