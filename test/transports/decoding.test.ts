import { fromBinary, fromJson, type JsonValue, toBinary, toJson } from "@bufbuild/protobuf"
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire"
import { expect, test } from "@jest/globals"
import { methods, randomMessage } from "../../fuzz/generate/messages.ts"
import { randomOf } from "../../fuzz/random.ts"
import { messageOf, messageOfJson, withEmptyStructs } from "../../server/src/rpc/decoded-structs.js"

/** So long that the parts of a request are counted. */
const unknownField = new BinaryWriter().tag(15_000, WireType.LengthDelimited).bytes(Buffer.alloc(2_000)).finish()
const perMethod = 30

test("every request that protobuf-es writes is read as protobuf-es reads it, and has few parts", () => {
  const random = randomOf(20_261_130)
  let inJson = 0
  for (const { input } of methods)
    for (let n = 0; n < perMethod; n++) {
      const message = randomMessage(random, input)
      const bytes = Buffer.concat([toBinary(input, message), unknownField])
      expect(messageOf(input, bytes)).toEqual(fromBinary(input, bytes, { readUnknownFields: false }))
      const json = jsonOf(() => toJson(input, message))
      if (json === undefined) continue
      inJson++
      expect(messageOfJson(input, json, withEmptyStructs(input, json))).toEqual(fromJson(input, json))
    }
  expect(inJson).toBeGreaterThan(methods.length)
})

/** Returns undefined for what JSON cannot have, such as half of a surrogate pair in a text. */
function jsonOf(make: () => JsonValue): JsonValue | undefined {
  try {
    return make()
  } catch {
    return undefined
  }
}
