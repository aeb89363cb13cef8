import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf"
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire"
import { invalidField } from "../errors/failure.js"
import { oncePer } from "../util/once-per.js"
import { maxParts, partsRule } from "./interceptors/validation.js"

/** How a field is encoded. */
interface Encoding {
  readonly wireType: WireType
  /** Whether it is a list of numbers, which may be packed. */
  readonly isPackable: boolean
  /** The fields of its messages. Undefined if it has none. */
  readonly shape: (() => Shape) | undefined
}

/** The fields of a message by their numbers. */
type Shape = ReadonlyMap<number, Encoding>

const shapeOf = oncePer(
  (desc: DescMessage): Shape => new Map(desc.fields.map((field) => [field.number, encodingOf(field)])),
)

function encodingOf(field: DescField): Encoding {
  if (field.fieldKind !== "map") return valueEncodingOf(field)
  // An entry is a message of a key and a value.
  const entry = new Map([
    [1, { wireType: wireTypeOf(field.mapKey), isPackable: false, shape: undefined }],
    [2, valueEncodingOf(field)],
  ])
  return { wireType: WireType.LengthDelimited, isPackable: false, shape: () => entry }
}

function valueEncodingOf({ fieldKind, message, scalar }: DescField): Encoding {
  const wireType = message === undefined ? wireTypeOf(scalar) : WireType.LengthDelimited
  const isPackable = fieldKind === "list" && wireType !== WireType.LengthDelimited
  return { wireType, isPackable, shape: message && (() => shapeOf(message)) }
}

/** @param scalar Undefined for an enum. */
function wireTypeOf(scalar: ScalarType | undefined): WireType {
  switch (scalar) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return WireType.LengthDelimited
    case ScalarType.DOUBLE:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return WireType.Bit64
    case ScalarType.FLOAT:
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
      return WireType.Bit32
    default:
      return WireType.Varint
  }
}

/** No message is read that is nested deeper: protobuf-es stops at 100. */
const maxDepth = 200

/** A request of at most so many bytes is never looked through, because nothing in it can take long. */
const fewBytes = 1024

/**
 * Returns how many fields and entries the encoding of a message has, at any depth, and 0 for a small request. Decoding 4 MiB of empty
 * entries takes many times as long as counting them, and no other call is served meanwhile. Throws INVALID_FIELD if there are more parts
 * than `validation` allows, and for bytes in which a decoder may find parts that cannot be counted: where a field has the wire type of
 * another kind, or is longer than the message around it.
 *
 * @param desc Its Structs count as bytes if it describes them so, as in messageOf. decodeStruct counts their parts.
 */
export function countWireParts(desc: DescMessage, bytes: Uint8Array): number {
  if (bytes.length <= fewBytes) return 0
  const reader = new BinaryReader(bytes)
  let parts = 0
  const count = (shape: Shape, end: number, depth: number): void => {
    /** How many groups are open. No field is one, so that they are unknown and decoders skip them, field by field. */
    let groups = 0
    while (reader.pos < end && parts <= maxParts) {
      const [number, wireType] = reader.tag()
      parts++
      // Nobody decodes what is nested deeper.
      const field = depth > maxDepth || groups > 0 ? undefined : shape.get(number)
      if (wireType === WireType.LengthDelimited) {
        const last = reader.uint32() + reader.pos
        if (field?.isPackable) parts += numbersIn(bytes.subarray(reader.pos, last))
        else if (field?.shape !== undefined) count(field.shape(), last, depth + 1)
        else if (field !== undefined && field.wireType !== wireType) throw notOfField(number)
        reader.pos = last
      } else if (field !== undefined && field.wireType !== wireType) throw notOfField(number)
      else if (wireType === WireType.Bit64) reader.pos += 8
      else if (wireType === WireType.Varint) while ((bytes[reader.pos++] ?? 0) > 0x7f);
      else if (wireType === WireType.StartGroup) groups++
      else if (wireType === WireType.EndGroup) groups--
      else reader.skip(wireType, number)
    }
    if (reader.pos > end && parts <= maxParts) throw new Error("a field is longer than its message")
  }
  count(shapeOf(desc), reader.len, 1)
  if (parts > maxParts) throw invalidField("request", partsRule)
  return parts
}

function notOfField(number: number): Error {
  return new Error(`field ${number} has the wire type of another kind of field`)
}

/** The last byte of each number is the only one without the highest bit. */
function numbersIn(packed: Uint8Array): number {
  let numbers = 0
  for (const byte of packed) if (byte < 0x80) numbers++
  return numbers
}
