import { IntrospectRequestSchema } from "@authwire/proto"
import { expect, test } from "@jest/globals"
import { settingNames } from "./policy.js"

test("a gateway has every setting of Introspect, so that none of its restrictions can be left out", () => {
  const fields = IntrospectRequestSchema.fields.map(({ name }) => name).filter((name) => name !== "headers")
  expect(settingNames).toEqual(expect.arrayContaining(fields))
})
