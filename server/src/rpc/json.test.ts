import type { JsonValue } from "@bufbuild/protobuf"
import { expect, test } from "@jest/globals"
import { jsonFault } from "./json.js"

const objects = (levels: number): JsonValue => (levels === 0 ? 1 : { a: objects(levels - 1) })
const lists = (levels: number): JsonValue => (levels === 0 ? 1 : [lists(levels - 1)])

test.each<[string, JsonValue]>([
  ["objects nested 32 deep", objects(32)],
  ["lists nested 32 deep", lists(32)],
  ["the largest number", Number.MAX_VALUE],
  ["a whole character of two halves", { "\ud83d\ude00": "\ud83d\ude00" }],
  ["null", { a: null, b: [null, true] }],
])("%s can be carried", (_, value) => {
  expect(jsonFault(value)).toBeUndefined()
})

const deeper = "must not be nested deeper than 32 levels"
const notUnicode = "must be well-formed Unicode"
test.each<[string, JsonValue, path: string, rule: string]>([
  ["objects nested 33 deep", objects(33), ".a".repeat(32), deeper],
  ["lists nested 33 deep", lists(33), "[0]".repeat(32), deeper],
  ["a list in objects", { a: [objects(31)] }, `.a[0]${".a".repeat(30)}`, deeper],
  ["a number beyond all numbers", { a: [0, { b: Number.NEGATIVE_INFINITY }] }, ".a[1].b", "must be a finite number"],
  ["half a character", { name: "\ud800" }, ".name", notUnicode],
  ["half a character inside", { a: [{ b: "\udc00x" }] }, ".a[0].b", notUnicode],
  ["a name with half a character", { a: { "\ud800": 1 } }, ".a", "must have names of well-formed Unicode"],
  ["a fault below a name that could be an address", { a: { "ada@example.com": "\ud800" } }, ".a", notUnicode],
])("S-33: %s is rejected, with the place and the rule", (_, value, path, rule) => {
  expect(jsonFault(value)).toEqual({ path, rule })
})
