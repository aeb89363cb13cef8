import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf"
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire"
import { oncePer } from "../util/once-per.js"
import { maxParts } from "./interceptors/validation.js"

/** What a field contains, by the number of the field: messages, or numbers that may be packed. Absent: neither, or unknown. */
type Shape = ReadonlyMap<number, "numbers" | (() => Shape)>

const shapeOf = oncePer(
  (desc: DescMessage): Shape =>
    new Map(
      desc.fields.flatMap((field) => {
        const content = contentOf(field)
        return content === undefined ? [] : [[field.number, content]]
      }),
    ),
)

function contentOf({ fieldKind, message, scalar }: DescField): "numbers" | (() => Shape) | undefined {
  if (message === undefined) {
    const isText = scalar === ScalarType.STRING || scalar === ScalarType.BYTES
    return fieldKind === "list" && !isText ? "numbers" : undefined
  }
  // An entry of a map is a message, whose field 2 is the value.
  const messages = () => shapeOf(message)
  return fieldKind === "map" ? () => new Map([[2, messages]]) : messages
}

/** Protobuf parsers read no message that is nested deeper. */
const maxDepth = 100

/** A request of at most so many bytes is never looked through, because nothing in it can take long. */
const fewBytes = 1024

/**
 * Returns whether the encoding of a message has more fields and entries, at any depth, than `validation` allows parts. Decoding
 * 4 MiB of empty entries takes many times as long as counting them, and no other call is served meanwhile. False if the bytes
 * cannot be read, which their decoder reports.
 */
export function hasTooManyParts(desc: DescMessage, bytes: Uint8Array): boolean {
  if (bytes.length <= fewBytes) return false
  const reader = new BinaryReader(bytes)
  let parts = 0
  const count = (shape: Shape, end: number, depth: number): void => {
    while (reader.pos < end && parts <= maxParts) {
      const [number, wireType] = reader.tag()
      parts++
      if (wireType === WireType.LengthDelimited) {
        const last = reader.uint32() + reader.pos
        const content = depth > maxDepth ? undefined : shape.get(number)
        if (content === "numbers") parts += numbersIn(bytes.subarray(reader.pos, last))
        else if (content !== undefined) count(content(), last, depth + 1)
        reader.pos = last
      } else if (wireType === WireType.Bit64) reader.pos += 8
      else if (wireType === WireType.Varint) while ((bytes[reader.pos++] ?? 0) > 0x7f);
      else reader.skip(wireType, number)
    }
  }
  try {
    count(shapeOf(desc), reader.len, 1)
  } catch {
    return false
  }
  return parts > maxParts
}

/** The last byte of each number is the only one without the highest bit. */
function numbersIn(packed: Uint8Array): number {
  let numbers = 0
  for (const byte of packed) if (byte < 0x80) numbers++
  return numbers
}
