import {
  BatchGetUsersRequestSchema,
  CreateSessionRequestSchema,
  CreateUserRequestSchema,
  GetUserRequestSchema,
  LinkAccountRequestSchema,
  PipelineRequestSchema,
} from "@authwire/proto"
import { create, type DescMessage, fromBinary, type JsonObject, toBinary } from "@bufbuild/protobuf"
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire"
import { expect, test } from "@jest/globals"
import { messageOf } from "./decoded-structs.js"
import { maxParts, partsRule } from "./interceptors/validation.js"
import { countWireParts } from "./wire-parts.js"

const mebibytes = 4 * 2 ** 20

/** A message with the same bytes in one of its fields. */
const inField = (field: number, bytes: Uint8Array) =>
  new BinaryWriter().tag(field, WireType.LengthDelimited).bytes(bytes).finish()
const times = (count: number, bytes: readonly number[]) => Buffer.alloc(count * bytes.length, Buffer.from(bytes))
const empty = (field: number) => [(field << 3) | WireType.LengthDelimited, 0]

const inGroup = (bytes: Uint8Array) => Buffer.concat([Buffer.of(0x7b), bytes, Buffer.of(0x7c)])

/** A call with as many pairs in its header. */
const withHeader = (pairs: number) =>
  Buffer.concat(Array.from({ length: pairs }, (_, name) => inField(5, inField(1, Buffer.from(String(name))))))

test.each<[string, DescMessage, Uint8Array, string]>([
  ["messages", PipelineRequestSchema, times(10_001, empty(1)), "calls: must contain no more than 1024"],
  ["texts", BatchGetUsersRequestSchema, times(10_001, empty(1)), "ids: must contain no more than 500"],
  [
    "packed numbers",
    PipelineRequestSchema,
    inField(2, Buffer.alloc(10_001, 1)),
    "cancelled_ids: must contain no more than",
  ],
  ["numbers", PipelineRequestSchema, times(10_001, [2 << 3, 1]), "cancelled_ids: must contain no more than 4096"],
  [
    "numbers of both kinds",
    PipelineRequestSchema,
    Buffer.concat([inField(2, Buffer.alloc(4_096, 1)), Buffer.of(2 << 3, 1), times(6_000, empty(15))]),
    "cancelled_ids:",
  ],
])("S-31: a list of more %s than the schema allows is not decoded", (_, desc, bytes, error) => {
  expect(() => countWireParts(desc, bytes)).toThrow(error)
})

test("of a small request all violations are told, also those beside a list that is too long", () => {
  expect(messageOf(BatchGetUsersRequestSchema, times(9_999, empty(1))).ids).toHaveLength(9_999)
})

test("lists of as many items as the schema allows are decoded, each of its own message", () => {
  const bytes = Buffer.concat([inField(1, withHeader(64)), inField(1, withHeader(64)), times(1_022, empty(1))])
  const { calls } = messageOf(PipelineRequestSchema, bytes)
  expect([calls.length, ...calls.slice(0, 2).map(({ header }) => Object.keys(header).length)]).toEqual([1_024, 64, 64])
})

test("fields in an unknown group are not items of a list", () => {
  const bytes = Buffer.concat([inField(1, Buffer.from("a")), inGroup(times(600, empty(1)))])
  expect(messageOf(BatchGetUsersRequestSchema, bytes).ids).toEqual(["a"])
})

test.each<[string, DescMessage, Uint8Array]>([
  ["messages in a list", PipelineRequestSchema, times(mebibytes / 2, empty(1))],
  ["texts in a list", BatchGetUsersRequestSchema, times(mebibytes / 2, empty(1))],
  ["packed numbers", PipelineRequestSchema, inField(2, Buffer.alloc(mebibytes - 8, 1))],
  ["numbers", PipelineRequestSchema, times(mebibytes / 2, [2 << 3, 1])],
  ["properties of JSON", CreateUserRequestSchema, inField(6, times(mebibytes / 2 - 4, empty(1)))],
  ["the same message", CreateUserRequestSchema, times(mebibytes / 2, empty(6))],
  ["the same text", GetUserRequestSchema, times(mebibytes / 2, empty(1))],
  ["unknown fields", GetUserRequestSchema, times(mebibytes / 2, empty(15))],
  ["fields in an unknown group", GetUserRequestSchema, inGroup(times(mebibytes / 2 - 2, [15 << 3, 0]))],
  ["unknown groups", GetUserRequestSchema, times(mebibytes / 2, [0x7b, 0x7c])],
])("S-31: 4 MiB of %s have too many parts", (_, desc, bytes) => {
  expect(() => messageOf(desc, bytes)).toThrow(partsRule(maxParts))
})

/** A list with as many zeros, within so many lists. */
const nested = (depth: number, zeros: number): JsonObject[string] =>
  depth === 0 ? Array.from({ length: zeros }, () => 0) : [nested(depth - 1, zeros)]
const withList = (depth: number, zeros: number) =>
  toBinary(CreateUserRequestSchema, create(CreateUserRequestSchema, { extra: { list: nested(depth, zeros) } }))

test("S-31: entries of lists in JSON count at every depth that is read", () => {
  for (const depth of [0, 10, 25, 60]) {
    // Each zero is a value in a list.
    expect(() => messageOf(CreateUserRequestSchema, withList(depth, maxParts / 2 + 1))).toThrow(partsRule(maxParts))
    expect(messageOf(CreateUserRequestSchema, withList(depth, maxParts / 2 - 200)).extra).toHaveProperty("list")
  }
})

test("a large message with few parts is left to its decoder, and one that cannot be read is rejected", () => {
  const large = inField(1, Buffer.alloc(mebibytes, "x"))
  expect(countWireParts(GetUserRequestSchema, large)).toBe(1)
  expect(fromBinary(GetUserRequestSchema, large).id).toHaveLength(mebibytes)
  for (const broken of [large.subarray(0, -1), Buffer.alloc(mebibytes, 0xff), Buffer.alloc(mebibytes)]) {
    expect(() => countWireParts(GetUserRequestSchema, broken)).toThrow()
    expect(() => fromBinary(GetUserRequestSchema, broken)).toThrow()
  }
})

const many = times(maxParts, empty(1))

test.each<[string, DescMessage, Uint8Array]>([
  ["the wire type of a number", CreateUserRequestSchema, withTag((6 << 3) | WireType.Varint, many)],
  ["a number of the wire type of a text", CreateSessionRequestSchema, inField(3, Buffer.concat([inField(1, many)]))],
  ["a key of a map of the wire type of a number", PipelineRequestSchema, inField(1, inField(5, withTag(8, many)))],
  ["the wire type of a group", CreateUserRequestSchema, withTag((6 << 3) | WireType.StartGroup, many)],
  [
    "a text of the wire type of a double",
    GetUserRequestSchema,
    Buffer.concat([[(1 << 3) | WireType.Bit64, 7], Buffer.alloc(7), inField(1, many)].map((part) => Buffer.from(part))),
  ],
  [
    "a length beyond the end of the message around it",
    LinkAccountRequestSchema,
    Buffer.concat([
      inField(12, Buffer.from([(1 << 3) | WireType.LengthDelimited, 100])),
      Buffer.alloc(100, empty(1)[0]),
      many,
    ]),
  ],
])("S-31: parts that a decoder would read behind %s are not overlooked", (_, desc, bytes) => {
  expect(() => messageOf(desc, bytes)).toThrow(/wire type of another kind|longer than its message|group/)
})

function withTag(tag: number, bytes: Uint8Array): Uint8Array {
  return new BinaryWriter().uint32(tag).bytes(bytes).finish()
}

test("messages in messages beyond the depth that parsers read are left to the decoder, which rejects them", () => {
  const inside = times(maxParts + 1, empty(15))
  const heads: Uint8Array[] = []
  let length = inside.length
  // From the inside: values, and lists in them, in turn, within the properties of a user.
  for (let depth = 0; depth < 1_000; depth++) {
    const field = depth % 2 === 0 ? 1 : 6
    const head = new BinaryWriter().tag(field, WireType.LengthDelimited).uint32(length).finish()
    heads.push(head)
    length += head.length
  }
  const deep = Buffer.concat([...heads.reverse(), inside])
  expect(() => messageOf(CreateUserRequestSchema, inField(6, inField(1, inField(2, deep))))).toThrow("nested too deep")
})
