import * as schema from "@authwire/proto"
import { Authorization } from "@authwire/proto/envoy"
import {
  create,
  type DescMessage,
  type DescService,
  fromBinary,
  fromJson,
  type JsonObject,
  type JsonValue,
  type MessageInitShape,
  toBinary,
  toJson,
} from "@bufbuild/protobuf"
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire"
import { StructSchema } from "@bufbuild/protobuf/wkt"
import { expect, test } from "@jest/globals"
import fc from "fast-check"
import { codecOf } from "./codec.js"
import { messageOf, messageOfJson, withEmptyStructs } from "./decoded-structs.js"
import { maxParts, partsRule } from "./interceptors/validation.js"
import { decodeStruct } from "./struct-decoding.js"

const { CreateUserRequestSchema, EncodeRequestSchema, LinkAccountRequestSchema, UpdateUserRequestSchema, UserService } =
  schema

const texts = fc.oneof(fc.string({ unit: "grapheme" }), fc.constantFrom("__proto__", "constructor", "ü".repeat(300)))
const { object } = fc.letrec<{ object: JsonObject }>((tie) => {
  const value = fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom(null, true, false, 0, -0, 1.5, -1e300, 5e-324, ""),
    texts,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.array(tie("object"), { maxLength: 3 }),
    fc.array(fc.integer(), { maxLength: 50 }),
    tie("object"),
  )
  return { object: fc.dictionary(texts, value, { maxKeys: 6 }) as fc.Arbitrary<JsonObject> }
})

/** The fields of a message as text, so that also the order of properties, an own property "__proto__" and -0 count. */
const shown = (message: object) =>
  Object.entries(message)
    .filter(([, value]) => value !== undefined)
    .map((entry) => JSON.stringify(entry, (_, value: unknown) => (isSpecial(value) ? `${String(value)}!` : value)))
    .sort()
const isSpecial = (value: unknown) => typeof value === "bigint" || Object.is(value, -0)

/** Expects that a message is decoded from bytes and from JSON as protobuf-es does. */
function expectAlike<S extends DescMessage>(desc: S, init: MessageInitShape<S>): void {
  const message = create(desc, init)
  const bytes = toBinary(desc, message)
  expect(shown(messageOf(desc, bytes))).toEqual(shown(fromBinary(desc, bytes)))
  const json = toJson(desc, message)
  const decoded = messageOfJson(desc, json, withEmptyStructs(desc, json))
  expect(shown(decoded)).toEqual(shown(fromJson(desc, json)))
}

test("a Struct is the same object as that of protobuf-es, from bytes and from JSON", () => {
  fc.assert(
    fc.property(object, object, (extra, payload) => {
      expectAlike(CreateUserRequestSchema, { id: "u", extra, emailVerified: { seconds: 1n, nanos: 2 } })
      expectAlike(EncodeRequestSchema, { payload, salt: "s", secrets: ["a", "b"] })
      expectAlike(LinkAccountRequestSchema, { authorizationDetails: { items: [extra, payload, {}] }, extra })
    }),
  )
  expectAlike(CreateUserRequestSchema, {})
  expectAlike(CreateUserRequestSchema, { extra: {} })
  expectAlike(LinkAccountRequestSchema, { authorizationDetails: {} })
  expectAlike(UpdateUserRequestSchema, { id: "u", updateMask: { paths: ["extra"] }, extra: { a: null } })
})

type Field = readonly [number: number, value: number | boolean | string | Uint8Array]

/** Writes fields: varints, doubles, texts and messages. */
function written(fields: readonly Field[]): Uint8Array {
  const writer = new BinaryWriter()
  for (const [number, value] of fields) {
    if (typeof value === "boolean") writer.tag(number, WireType.Varint).bool(value)
    else if (typeof value === "number") writer.tag(number, WireType.Bit64).double(value)
    else {
      const bytes = typeof value === "string" ? Buffer.from(value) : value
      writer.tag(number, WireType.LengthDelimited).bytes(bytes)
    }
  }
  return writer.finish()
}

const { struct } = fc.letrec<Record<"struct" | "entry" | "value" | "list", Uint8Array>>((tie) => {
  const unknown = fc.constantFrom<Field>([9, true], [10, 1.5], [11, "unknown"])
  const of = (number: number, value: fc.Arbitrary<Field[1]>) => value.map((one): Field => [number, one])
  const message = (...fields: fc.Arbitrary<Field>[]) =>
    fc.array(fc.oneof({ maxDepth: 5 }, unknown, ...fields), { maxLength: 4 }).map(written)
  const entry = of(1, tie("entry"))
  return {
    struct: message(entry, entry, entry),
    entry: message(of(1, fc.constantFrom("", "a", "b", "__proto__")), of(2, tie("value")), of(2, tie("value"))),
    value: message(
      ...[of(1, fc.boolean()), of(2, fc.double({ noNaN: true, noDefaultInfinity: true })), of(3, texts)],
      ...[of(4, fc.boolean()), of(5, tie("struct")), of(5, tie("struct")), of(6, tie("list")), of(6, tie("list"))],
    ),
    list: message(of(1, tie("value")), of(1, tie("value"))),
  }
})

test("what occurs again is merged as protobuf-es merges it, in a message, an entry and a value", () => {
  fc.assert(
    fc.property(struct, struct, (first, second) => {
      const bytes = written([
        [6, first],
        [6, second],
      ])
      expect(shown(messageOf(CreateUserRequestSchema, bytes))).toEqual(
        shown(fromBinary(CreateUserRequestSchema, bytes, { readUnknownFields: false })),
      )
    }),
    { numRuns: 3_000 },
  )
})

test("unknown fields are dropped, also within what has a Struct", () => {
  const unknown = written([[99, "x"]])
  const inside = Buffer.concat([toBinary(StructSchema, fromJson(StructSchema, { a: 1 })), unknown])
  const bytes = Buffer.concat([unknown, written([[6, inside]])])
  expect(shown(messageOf(CreateUserRequestSchema, bytes))).toEqual(
    shown(create(CreateUserRequestSchema, { extra: { a: 1 } })),
  )
})

test("bytes that are not UTF-8, end early or are nested without end are no Struct", () => {
  const bytes = toBinary(StructSchema, fromJson(StructSchema, { name: { a: ["text"] } }))
  for (let end = 1; end < bytes.length; end++) expect(() => decodeStruct([bytes.subarray(0, end)])).toThrow()
  for (const at of [Buffer.from(bytes).indexOf("name"), Buffer.from(bytes).indexOf("text")]) {
    const broken = Uint8Array.from(bytes)
    broken[at] = 0xff
    expect(() => decodeStruct([broken])).toThrow()
  }
  let deep: Uint8Array = Buffer.of()
  for (let level = 0; level < 501; level++) deep = written([[level % 2 === 0 ? 6 : 1, deep]])
  expect(() => decodeStruct([written([[1, written([[2, deep]])]])])).toThrow("nested too deep")
})

/** A Struct with an entry whose value has these bytes. */
const inValue = (tag: number, bytes: readonly number[]) => written([[1, written([[2, Buffer.from([tag, ...bytes])]])]])

test.each<[string, Uint8Array]>([
  ["a null of the wire type of a text", inValue((1 << 3) | 2, [0])],
  ["a number of the wire type of a text", inValue((2 << 3) | 2, [7, 0, 0, 0, 0, 0, 0, 0])],
  ["a text of the wire type of a number", inValue(3 << 3, [0])],
  ["a boolean of the wire type of a text", inValue((4 << 3) | 2, [0])],
  ["an object of the wire type of a number", inValue(5 << 3, [0])],
  ["a list of the wire type of a number", inValue(6 << 3, [0])],
  ["a value of a list of the wire type of a number", inValue((6 << 3) | 2, [2, 1 << 3, 0])],
  ["an entry of the wire type of a number", Buffer.of(1 << 3, 0)],
  ["a key of the wire type of a number", written([[1, Buffer.of(1 << 3, 0)]])],
  ["a value of the wire type of a number", written([[1, Buffer.of(2 << 3, 0)]])],
  ["a text that is longer than its value", Buffer.concat([inValue((3 << 3) | 2, [4]), written([[1, "name"]])])],
  ["an unknown group", Buffer.of(0x7b, 0x7c)],
])("S-31: %s is no Struct, because parts might be read in it that were not counted", (_, bytes) => {
  expect(() => decodeStruct([bytes])).toThrow(/wire type of another kind|longer than its message|group/)
})

test("S-31: the parts of all Structs of a request count together", () => {
  const detail = { type: "a", zeros: Array.from({ length: maxParts / 4 }, () => 0) }
  const bytesOf = (details: number) =>
    toBinary(
      LinkAccountRequestSchema,
      create(LinkAccountRequestSchema, {
        authorizationDetails: { items: Array.from({ length: details }, () => detail) },
      }),
    )
  expect(messageOf(LinkAccountRequestSchema, bytesOf(1)).authorizationDetails?.items).toEqual([detail])
  expect(() => messageOf(LinkAccountRequestSchema, bytesOf(2))).toThrow(partsRule(maxParts))
})

const { decode, decodeJson } = codecOf(UserService.method.createUser, async () => {})
const nested = (levels: number): JsonValue => (levels === 0 ? 1 : { a: nested(levels - 1) })

test("S-33: what a Struct cannot carry to every client is rejected wherever it is decoded, with the place and the rule", () => {
  const deeper = { field: `extra${".a".repeat(32)}`, description: "must not be nested deeper than 32 levels" }
  const infinite = { field: "extra.a", description: "must be a finite number" }
  const failure = (...violations: object[]) => expect.objectContaining({ reason: "INVALID_FIELD", violations })
  for (const levels of [33, 45]) {
    const extra = nested(levels) as JsonObject
    const bytes = toBinary(CreateUserRequestSchema, create(CreateUserRequestSchema, { extra }))
    expect(() => decode(bytes)).toThrow(failure(deeper))
    expect(() => decodeJson(Buffer.from(JSON.stringify({ extra })))).toThrow(failure(deeper))
  }
  expect(() => decodeJson(Buffer.from(`{"extra": ${"[".repeat(30_000)}${"]".repeat(30_000)}}`))).toThrow(
    failure({ field: "extra", description: "must be an object" }),
  )
  const deep = `{"extra": {"a": ${"[".repeat(30_000)}${"]".repeat(30_000)}}}`
  expect(() => decodeJson(Buffer.from(deep))).toThrow(
    failure({ field: `extra.a${"[0]".repeat(31)}`, description: deeper.description }),
  )
  expect(() => decodeJson(Buffer.from('{"extra": {"a": 1e999}}'))).toThrow(failure(infinite))
  const bytes = toBinary(CreateUserRequestSchema, create(CreateUserRequestSchema, { extra: { a: Number.NaN } }))
  expect(() => decode(bytes)).toThrow(failure(infinite))
})

test("an item of a list and both spellings of a name are read, and named in an error", () => {
  const { decodeJson: link } = codecOf(schema.AccountService.method.linkAccount, async () => {})
  for (const name of ["authorizationDetails", "authorization_details"]) {
    const request = (second: JsonValue) => Buffer.from(JSON.stringify({ [name]: { items: [{ a: 1 }, second] } }))
    expect(link(request({ b: [2] }))).toMatchObject({ authorizationDetails: { items: [{ a: 1 }, { b: [2] }] } })
    const field = `authorization_details.items[1]${".a".repeat(32)}`
    expect(() => link(request(nested(33)))).toThrow(
      expect.objectContaining({ violations: [expect.objectContaining({ field })] }),
    )
  }
})

test("a name that occurs twice is rejected, also within a Struct", () => {
  for (const text of [
    '{"id": "a", "id": "b"}',
    '{"extra": {"a": {"b": 1, "b": 2}}}',
    '{"extra": {"a": 1, "\\u0061": 2}}',
  ])
    expect(() => decodeJson(Buffer.from(text))).toThrow(
      expect.objectContaining({
        violations: [{ field: "request", description: "has an object with two values of the same name" }],
      }),
    )
})

test("no request has a Struct where it would be left to protobuf-es, or not be checked: in a map, a oneof, or a value of JSON", () => {
  const isService = (one: unknown): one is DescService => (one as Partial<DescService>).kind === "service"
  const services = [...Object.values<unknown>(schema).filter(isService), Authorization]
  const places: string[] = []
  let structs = 0
  const walk = (message: DescMessage, outer: readonly DescMessage[]) => {
    for (const { fieldKind, oneof, name, message: of } of message.fields) {
      if (of === undefined) continue
      const isOfJson = ["Struct", "Value", "ListValue"].includes(of.name) && of.file.proto.package === "google.protobuf"
      if (isOfJson) structs++
      if (isOfJson && (of.name !== "Struct" || fieldKind === "map" || oneof !== undefined))
        places.push(`${message}.${name}`)
      if (outer.includes(of)) places.push(`${message}.${name} contains itself`)
      else if (!isOfJson) walk(of, [...outer, of])
    }
  }
  for (const { input } of services.flatMap(({ methods }) => methods)) walk(input, [input])
  expect([structs > 5, places]).toEqual([true, []])
})
