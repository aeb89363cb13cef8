import {
  AuthorizationDetailsSchema,
  GetTokenResponseSchema,
  GetUserResponseSchema,
  ListUsersResponseSchema,
} from "@authwire/proto"
import {
  create,
  type DescMessage,
  fromBinary,
  type JsonObject,
  type MessageInitShape,
  toBinary,
  toJsonString,
} from "@bufbuild/protobuf"
import { expect, test } from "@jest/globals"
import fc from "fast-check"
import { jsonOf, withEncodedStructs, withShallowStructs } from "./encoded-structs.js"

/** Expects that a message is encoded as before, and returns the fields that were encoded already. */
function encodedFields<S extends DescMessage>(schema: S, init: MessageInitShape<S>): number[] {
  const message = create(schema, init)
  const prepared = withEncodedStructs(schema, message)
  expect(fromBinary(schema, toBinary(schema, prepared))).toEqual(fromBinary(schema, toBinary(schema, message)))
  expect(JSON.stringify(jsonOf(schema, message))).toBe(toJsonString(schema, message))
  return prepared.$unknown?.map(({ no }) => no) ?? []
}

const texts = fc.oneof(fc.string({ unit: "grapheme" }), fc.string({ unit: "binary" }), fc.constant("ü".repeat(300)))
const { object } = fc.letrec<{ object: JsonObject }>((tie) => {
  const value = fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom(null, true, false, 0, -0, 1.5, -1e300, 5e-324, NaN, Infinity, ""),
    texts,
    fc.double(),
    fc.array(tie("object"), { maxLength: 3 }),
    fc.array(fc.double(), { maxLength: 200 }),
    tie("object"),
  )
  return { object: fc.dictionary(texts, value, { maxKeys: 6 }) as fc.Arbitrary<JsonObject> }
})

test("a Struct has the bytes that protobuf-es writes", () => {
  fc.assert(
    fc.property(object, (claims) => {
      const message = create(GetTokenResponseSchema, { result: { case: "payload", value: claims } })
      const prepared = withEncodedStructs(GetTokenResponseSchema, message)
      const hex = (one: typeof message) => Buffer.from(toBinary(GetTokenResponseSchema, one)).toString("hex")
      expect(hex(prepared)).toBe(hex(message))
    }),
  )
})

test("a Struct has the JSON that protobuf-es writes", () => {
  const finite = object.map((claims) => JSON.parse(JSON.stringify(claims)) as JsonObject)
  fc.assert(
    fc.property(fc.array(finite, { maxLength: 3 }), (items) => {
      const message = create(AuthorizationDetailsSchema, { items })
      expect(JSON.stringify(jsonOf(AuthorizationDetailsSchema, message))).toBe(
        toJsonString(AuthorizationDetailsSchema, message),
      )
    }),
  )
})

test("Structs are encoded wherever a message has them, and nothing else changes", () => {
  const [extra, users] = [{ role: "admin" }, [{ id: "a", name: "A", extra: {}, etag: "e" }, { id: "b" }]]
  expect(encodedFields(GetTokenResponseSchema, { result: { case: "payload", value: extra } })).toEqual([1])
  expect(encodedFields(GetTokenResponseSchema, { result: { case: "raw", value: "token" } })).toEqual([])
  expect(encodedFields(GetTokenResponseSchema, {})).toEqual([])
  expect(encodedFields(AuthorizationDetailsSchema, { items: [extra, {}, extra] })).toEqual([1, 1, 1])
  expect(encodedFields(ListUsersResponseSchema, { users, nextPageToken: "next" })).toEqual([])
  expect(encodedFields(GetUserResponseSchema, { user: users[0] as { id: string } })).toEqual([])
})

test("a message with shallow Structs has their properties, without what is within", () => {
  const shallow = <S extends DescMessage>(schema: S, init: MessageInitShape<S>) =>
    withShallowStructs(schema, create(schema, init))
  const extra = JSON.parse('{"a":[1],"b":null,"__proto__":{"c":1},"d":"e"}') as JsonObject
  const user = { id: "u", extra }
  const { user: left } = shallow(GetUserResponseSchema, { user })
  expect([left?.id, JSON.stringify(left?.extra)]).toEqual(["u", '{"a":{},"b":null,"__proto__":{},"d":"e"}'])
  expect(user.extra).toBe(extra)
  const result = { case: "payload", value: { a: [1], b: 2 } as JsonObject } as const
  expect(shallow(GetTokenResponseSchema, { result }).result.value).toEqual({ a: {}, b: 2 })
  const { items } = shallow(AuthorizationDetailsSchema, { items: [{ a: { b: 1 } }, {}] })
  expect(items).toEqual([{ a: {} }, {}])
})
