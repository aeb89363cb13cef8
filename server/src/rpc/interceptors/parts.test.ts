import {
  GetSessionAndUserRequestSchema,
  GetTokenRequestSchema,
  LinkAccountRequestSchema,
  PipelineRequestSchema,
  UpdateUserRequestSchema,
} from "@authwire/proto"
import { create, type DescMessage } from "@bufbuild/protobuf"
import { ListValueSchema, StructSchema, ValueSchema } from "@bufbuild/protobuf/wkt"
import { expect, test } from "@jest/globals"
import { countOf } from "./parts.js"

const many = 1_000_000
const countParts = (desc: DescMessage, message: object, end: number) => countOf(desc)?.(message as never, end) ?? 0
const times = <T>(length: number, value: T): T[] => Array.from({ length }, () => value)

test("fields are not parts", () => {
  const message = create(GetSessionAndUserRequestSchema, { sessionToken: "x".repeat(1000) })
  expect(countParts(GetSessionAndUserRequestSchema, message, many)).toBe(0)
})

test("entries of lists of messages and of scalars are parts", () => {
  const token = create(GetTokenRequestSchema, { headers: times(3, { name: "a", value: "b" }), secrets: ["x", "y"] })
  expect(countParts(GetTokenRequestSchema, token, many)).toBe(5)
  const user = create(UpdateUserRequestSchema, { id: "u", updateMask: { paths: ["a", "b"] } })
  expect(countParts(UpdateUserRequestSchema, user, many)).toBe(2)
})

test("entries of maps are parts, and so are the parts inside them", () => {
  const message = create(PipelineRequestSchema, {
    calls: [
      { id: 1, header: { a: "b", c: "d" } },
      { id: 2, message: new Uint8Array(10_000) },
    ],
    cancelledIds: [1, 2, 3],
  })
  expect(countParts(PipelineRequestSchema, message, many)).toBe(7)
})

test("JSON is counted at every depth, by keys and list entries", () => {
  const extra = { a: 1, b: [1, [2, 3]], c: { d: { e: null } } }
  const message = create(LinkAccountRequestSchema, { extra })
  expect(countParts(LinkAccountRequestSchema, message, many)).toBe(9)
  expect(countParts(StructSchema, extra, many)).toBe(9)
})

test("recursive types are counted", () => {
  const number = create(ValueSchema, { kind: { case: "numberValue", value: 1 } })
  const inner = create(ListValueSchema, { values: times(4, number) })
  const outer = create(ListValueSchema, {
    values: [create(ValueSchema, { kind: { case: "listValue", value: inner } })],
  })
  expect(countParts(ListValueSchema, outer, many)).toBe(5)
})

test("the count stops soon after its limit", () => {
  const headers = times(1000, { name: "a", value: "b" })
  const message = create(GetTokenRequestSchema, { headers, secrets: times(1000, "s") })
  expect(countParts(GetTokenRequestSchema, message, 10)).toBe(1000)
  const extra = Object.fromEntries(times(1000, 0).map((_, index) => [`k${index}`, index]))
  expect(countParts(LinkAccountRequestSchema, create(LinkAccountRequestSchema, { extra }), 10)).toBe(11)
})
