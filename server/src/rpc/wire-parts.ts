import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf"
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire"
import { oncePer } from "../util/once-per.js"
import { maxParts } from "./interceptors/validation.js"

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
  // Kept, because it is read for each value.
  let shape: Shape | undefined
  return { wireType, isPackable, shape: message && (() => (shape ??= shapeOf(message))) }
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

/** No message is read that is nested deeper: protobuf-es stops at 100, and decodeStruct at 64 objects, each of which has three messages. */
const maxDepth = 200

/** A request of at most so many bytes is never looked through, because nothing in it can take long. */
const fewBytes = 1024

/**
 * Returns whether the encoding of a message has more fields and entries, at any depth, than `validation` allows parts. Decoding
 * 4 MiB of empty entries takes many times as long as counting them, and no other call is served meanwhile. Throws for bytes in which a
 * decoder may find parts that cannot be counted: where a field has the wire type of another kind, or is longer than the message around it.
 * False for a small request.
 */
export function hasTooManyParts(desc: DescMessage, bytes: Uint8Array): boolean {
  if (bytes.length <= fewBytes) return false
  const reader = new BinaryReader(bytes)
  let parts = 0
  /** Most tags and lengths have a single byte, for which the reader takes several times as long. */
  const uint32 = () => ((bytes[reader.pos] ?? 0xff) < 0x80 ? (bytes[reader.pos++] as number) : reader.uint32())
  const count = (shape: Shape, end: number, depth: number): void => {
    /** How many groups are open. No field is one, so that they are unknown and decoders skip them, field by field. */
    let groups = 0
    while (reader.pos < end && parts <= maxParts) {
      const tag = uint32()
      const number = tag >>> 3
      const wireType: WireType = tag & 7
      if (number === 0) throw new Error("a field has the number 0")
      parts++
      // Nobody decodes what is nested deeper.
      const field = depth > maxDepth || groups > 0 ? undefined : shape.get(number)
      if (wireType === WireType.LengthDelimited) {
        const last = uint32() + reader.pos
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
  return parts > maxParts
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
