import { expect, test } from "@jest/globals"
import { maxParts } from "./interceptors/validation.js"
import { hasTooManyJsonParts } from "./json-parts.js"

const mebibytes = 4 * 2 ** 20

test.each([
  ["objects", "{},"],
  ["numbers", "1,"],
  ["texts", '"\\"",'],
  ["arrays in arrays", "["],
  ["objects in objects", '{"":'],
])("4 MiB of %s have too many parts", (_, part) => {
  const bytes = Buffer.from(`[${part.repeat(mebibytes / part.length)}`)
  expect(hasTooManyJsonParts(bytes, maxParts)).toBe(true)
})

test("no text is a part, whatever is in it", () => {
  for (const text of ["[{,".repeat(200_000), '\\",'.repeat(200_000), "\\\\".repeat(200_000), "é,".repeat(200_000)]) {
    const json = `{"a": "${text}", "b": [${'"",'.repeat(1_000)}1]}`
    expect(hasTooManyJsonParts(Buffer.from(json), maxParts)).toBe(false)
  }
})

test("a property counts as its entry, its name and its value", () => {
  const properties = (count: number) =>
    Buffer.from(JSON.stringify(Object.fromEntries(range(count).map((n) => [`name ${n}`, 0]))))
  expect(hasTooManyJsonParts(properties(maxParts / 4 + 2), maxParts)).toBe(true)
  expect(hasTooManyJsonParts(properties(maxParts / 4 - 1), maxParts)).toBe(false)
})

const range = (count: number) => Array.from({ length: count }, (_, n) => n)
