import { expect, test } from "@jest/globals"
import { jsonText, tooManyParts } from "./json-text.js"

const mebibytes = 4 * 2 ** 20

test.each([
  ["objects", "{},"],
  ["numbers", "1,"],
  ["texts", '"\\"",'],
  ["arrays in arrays", "["],
  ["objects in objects", '{"":'],
])("4 MiB of %s have too many parts", (_, part) => {
  const bytes = Buffer.from(`[${part.repeat(mebibytes / part.length)}`)
  expect(() => jsonText.decode(bytes)).toThrow(tooManyParts)
})

test("no text is a part, whatever is in it", () => {
  for (const text of ["[{,".repeat(200_000), '\\",'.repeat(200_000), "\\\\".repeat(200_000), "é,".repeat(200_000)]) {
    const json = `{"a": "${text}", "b": [${'"",'.repeat(1_000)}1]}`
    expect(jsonText.decode(Buffer.from(json))).toBe(json)
  }
})
