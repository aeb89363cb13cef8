import { type DescField, type DescMessage, getOption, ScalarType } from "@bufbuild/protobuf"
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire"
import { field as rulesOption } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js"
import { type Failure, invalidField } from "../errors/failure.js"
import { oncePer } from "../util/once-per.js"
import { maxParts, partsRule, smallParts } from "./interceptors/validation.js"

/** How a field is encoded. */
interface Encoding {
  readonly name: string
  /** The most items of a list that the schema allows. Undefined if it has no such rule. A map may have a pair twice. */
  readonly mostItems: number | undefined
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
    [1, { name: "key", mostItems: undefined, wireType: wireTypeOf(field.mapKey), isPackable: false, shape: undefined }],
    [2, valueEncodingOf(field)],
  ])
  return { ...valueEncodingOf(field), wireType: WireType.LengthDelimited, shape: () => entry }
}

function valueEncodingOf(field: DescField): Encoding {
  const { name, fieldKind, message, scalar } = field
  const wireType = message === undefined ? wireTypeOf(scalar) : WireType.LengthDelimited
  const isPackable = fieldKind === "list" && wireType !== WireType.LengthDelimited
  return { name, mostItems: mostItemsOf(field), wireType, isPackable, shape: message && (() => shapeOf(message)) }
}

function mostItemsOf(field: DescField): number | undefined {
  const { type } = getOption(field, rulesOption)
  return type.case === "repeated" && type.value.maxItems > 0n ? Number(type.value.maxItems) : undefined
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
 * than `validation` allows, or if a large request has a list with more items, so that nothing is decoded of what is rejected for its size
 * alone. Throws for bytes in which a decoder may find parts that cannot be counted: where a field has the wire type of another kind, or is
 * longer than the message around it.
 *
 * @param desc Its Structs count as bytes if it describes them so, as in messageOf. decodeStruct counts their parts.
 * @param most The largest number of parts. Default: that of validation.
 */
export function countWireParts(desc: DescMessage, bytes: Uint8Array, most = maxParts): number {
  if (bytes.length <= fewBytes) return 0
  const reader = new BinaryReader(bytes)
  let parts = 0
  /** The fields around the message that is read. */
  const around: string[] = []
  let tooLong: Failure | undefined
  const count = (shape: Shape, end: number, depth: number): void => {
    let items: Map<number, number> | undefined
    const countItems = (number: number, { name, mostItems }: Encoding, more: number): void => {
      if (mostItems === undefined) return
      items ??= new Map()
      const count = (items.get(number) ?? 0) + more
      if (count > mostItems)
        tooLong ??= invalidField([...around, name].join("."), `must contain no more than ${mostItems} item(s)`)
      items.set(number, count)
    }
    /** How many groups are open. No field is one, so that they are unknown and decoders skip them, field by field. */
    let groups = 0
    while (reader.pos < end && parts <= most) {
      const [number, wireType] = reader.tag()
      parts++
      // Nobody decodes what is nested deeper.
      const field = depth > maxDepth || groups > 0 ? undefined : shape.get(number)
      const isPacked = field?.isPackable === true && wireType === WireType.LengthDelimited
      if (field !== undefined && !isPacked) countItems(number, field, 1)
      if (wireType === WireType.LengthDelimited) {
        const last = reader.uint32() + reader.pos
        if (isPacked) {
          const numbers = numbersIn(bytes.subarray(reader.pos, last))
          countItems(number, field, numbers)
          parts += numbers
        } else if (field?.shape !== undefined) {
          around.push(field.name)
          count(field.shape(), last, depth + 1)
          around.pop()
        } else if (field !== undefined && field.wireType !== wireType) throw notOfField(number)
        reader.pos = last
      } else if (field !== undefined && field.wireType !== wireType) throw notOfField(number)
      else if (wireType === WireType.Bit64) reader.pos += 8
      else if (wireType === WireType.Varint) while ((bytes[reader.pos++] ?? 0) > 0x7f);
      else if (wireType === WireType.StartGroup) groups++
      else if (wireType === WireType.EndGroup) groups--
      else reader.skip(wireType, number)
    }
    if (reader.pos > end && parts <= most) throw new Error("a field is longer than its message")
  }
  count(shapeOf(desc), reader.len, 1)
  if (parts > most) throw invalidField("request", partsRule(most))
  // In a smaller request validation finds it, with all other violations.
  if (parts > smallParts && tooLong !== undefined) throw tooLong
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
