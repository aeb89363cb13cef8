import { IntrospectRequestSchema } from "@authwire/proto"
import { expect, test } from "@jest/globals"
import type { Failure } from "../errors/failure.js"
import { readPolicy, settingNames, settingsField } from "./policy.js"

test("a gateway has every setting of Introspect, so that none of its restrictions can be left out", () => {
  const fields = IntrospectRequestSchema.fields.map(({ name }) => name).filter((name) => name !== "headers")
  expect(settingNames).toEqual(expect.arrayContaining(fields))
})

test.each<[Record<string, string>, string]>([
  [{ policies: "required" }, "contains a setting that is not one of tenant, policy, roles"],
  [{ Roles: "admin" }, "contains a setting that is not one of"],
  [JSON.parse('{"__proto__":"x"}'), "contains a setting that is not one of"],
  [{ constructor: "x" }, "contains a setting that is not one of"],
  [{ policy: "" }, "policy must be required or optional"],
  [{ policy: "Optional" }, "policy must be required or optional"],
  [{ policy: "constructor" }, "policy must be required or optional"],
  [{ roles: "" }, "roles must be a list of 1 to 64 roles"],
  [{ roles: "admin,,user" }, "roles must be a list of 1 to 64 roles"],
  [{ roles: "admin", policy: "optional" }, "roles needs policy to be required"],
  [{ role_property: "a b" }, "role_property must be the name of a property"],
  [{ sign_in: "javascript:alert(1)" }, "sign_in must be an http or https URL"],
  [{ sign_in: "//evil.example" }, "sign_in must be"],
  [{ sign_in: "/\\evil.example" }, "sign_in must be"],
  [{ sign_in: "/in#x" }, "sign_in must be"],
  [{ sign_in: "https://a b" }, "sign_in must be"],
  [{ sign_in: "" }, "sign_in must be"],
  [{ cookie_name: "a b" }, "cookie_name must be the name of a cookie"],
  [{ cookie_name: "" }, "cookie_name must be the name of a cookie"],
  [{ strategy: "JWT" }, "strategy must be database or jwt"],
  [{ strategy: "constructor" }, "strategy must be database or jwt"],
  [{ with_user: "yes" }, "with_user must be true or false"],
  [{ secure_cookie: "" }, "secure_cookie must be true or false"],
  [{ user_id_claim: "" }, "user_id_claim must be a text of 1 to 256 bytes"],
  [{ salt: "é".repeat(129) }, "salt must be a text of 1 to 256 bytes"],
  [{ preflight: "true" }, "preflight must be check or forward"],
  [{ headers: "email" }, "headers must be a list of 1 to 16 x-auth-NAME=PROPERTY"],
  [{ headers: "host=email" }, "headers must be"],
  [{ headers: "x-auth-user-id=email" }, "headers must be"],
  [{ headers: "x-auth-a=a,x-auth-a=b" }, "headers must be"],
  [{ headers: "x-auth-a\r\nb=a" }, "headers must be"],
  [{ headers: Array.from({ length: 17 }, (_, at) => `x-auth-${at}=a`).join() }, "headers must be"],
  [{ identity: "jwt" }, "identity and audience need each other"],
  [{ audience: "orders" }, "identity and audience need each other"],
  [{ identity: "saml", audience: "orders" }, "identity must be jwt"],
  [{ identity: "jwt", audience: "" }, "audience must be a text of 1 to 256 bytes"],
  [{ tenant: "another" }, "tenant must be the tenant of the API key"],
  [{ sign_in: `/${"x".repeat(9_000)}` }, "must not be longer than 8192 characters"],
])("the settings %j are rejected without their values", (settings, words) => {
  let failure: Failure | undefined
  try {
    readPolicy(settings, "default")
  } catch (error) {
    failure = error as Failure
  }
  const field = { field: settingsField, description: expect.stringContaining(words) }
  expect(failure).toMatchObject({ reason: "INVALID_FIELD", violations: [field] })
  expect(`${failure?.message} ${JSON.stringify(failure)}`).not.toMatch(/evil|another|alert/)
})
