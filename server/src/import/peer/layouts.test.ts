import { AccountSchema, AuthenticatorSchema, SessionSchema, UserSchema, VerificationTokenSchema } from "@authwire/proto"
import { expect, test } from "@jest/globals"
import { fields } from "./layouts.js"

/** What the service adds to a resource, besides the properties of the contract. The tables of adapters do not have it. */
const ofTheService: Readonly<Record<string, readonly string[]>> = {
  users: ["extra", "create_time", "update_time", "etag", "disabled"],
  accounts: ["extra", "create_time", "update_time", "etag"],
  sessions:
    "extra id create_time last_seen_time ip user_agent auth_method provider impersonator provider_session_id".split(
      " ",
    ),
  verificationTokens: [],
  authenticators: ["extra", "create_time", "update_time", "display_name", "last_used_time"],
}

const plain = (name: string) => name.replaceAll("_", "").toLowerCase()

test.each([
  ["users", UserSchema],
  ["accounts", AccountSchema],
  ["sessions", SessionSchema],
  ["verificationTokens", VerificationTokenSchema],
  ["authenticators", AuthenticatorSchema],
] as const)("of %s, every field of the contract in the schema is imported", (name, schema) => {
  const contract = schema.fields.map((field) => field.name).filter((field) => !ofTheService[name]?.includes(field))
  expect(Object.keys(fields[name]).map(plain).sort()).toEqual(contract.map(plain).sort())
})
