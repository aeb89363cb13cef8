import { expect, test } from "@jest/globals"
import type { BulkName } from "../../store/sql/index.js"
import { convert } from "./convert.js"
import { RawRow } from "./raw-row.js"
import { jsonReader } from "./values.js"

/** Converts a row with these values, each in a column that is named after its property. Returns the faults. */
function faultsOf(name: BulkName, values: Record<string, unknown>): string[] {
  const names = Object.keys(values)
  const columns = names.map((field) => ({
    ...{ name: field, field, type: "text", maxLength: undefined, folds: false },
    json: jsonReader("text"),
  }))
  const raw = new RawRow(columns, Object.values(values), "Z")
  convert[name](raw, "default", false)
  return raw.faults.map(({ detail }) => detail)
}

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
