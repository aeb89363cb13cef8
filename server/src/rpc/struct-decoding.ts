import type { JsonObject, JsonValue } from "@bufbuild/protobuf"
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire"
import { invalidField } from "../errors/failure.js"
import { isObject, maxJsonDepth } from "../util/json.js"
import { maxParts, partsRule } from "./interceptors/validation.js"

/** The depth at which the decoder gives up. A lower one that is too deep is an error that names its place: see `checkStructs`. */
const maxDepth = 2 * maxJsonDepth

/** How many parts a request may still have. Each field in a Struct is one. */
export interface PartsLeft {
  left: number
}

/**
 * Decodes the occurrences of a google.protobuf.Struct, which are merged, to the JSON object of fromBinary. For fromBinary each value becomes
 * two or three messages first, so that it takes several times as long, and no other call is served meanwhile. Throws if the bytes are no
 * Struct, and INVALID_FIELD if the request has too many parts.
 *
 * @param parts Those that are read are taken from it. Default: those of a request.
 */
export function decodeStruct(occurrences: readonly Uint8Array[], parts: PartsLeft = { left: maxParts }): JsonObject {
  const object: JsonObject = {}
  for (const bytes of occurrences) if (bytes.length > 0) readObject(new Reader(bytes, parts), bytes.length, object, 1)
  return object
}

/** Reads the fields of messages, and counts them. */
class Reader extends BinaryReader {
  readonly #parts: PartsLeft

  constructor(bytes: Uint8Array, parts: PartsLeft) {
    super(bytes)
    this.#parts = parts
  }

  /** Returns whether the message that ends here has a further field. */
  hasNext(end: number): boolean {
    if (this.pos > end) throw new Error("a field is longer than its message")
    if (this.pos < end && --this.#parts.left < 0) throw invalidField("request", partsRule(maxParts))
    return this.pos < end
  }

  /** Reads the length of a message, of a field with this wire type, and returns where it ends. */
  end(type: WireType): number {
    must(type, WireType.LengthDelimited)
    return this.uint32() + this.pos
  }

  /** Skips an unknown field. Nobody writes groups, whose fields would not be counted. */
  override skip(type: WireType): Uint8Array {
    if (type === WireType.StartGroup) throw new Error("a Struct has a group")
    return super.skip(type)
  }
}

function must(type: WireType, expected: WireType): void {
  if (type !== expected) throw new Error("a field has the wire type of another kind of field")
}

/** Reads a google.protobuf.Struct, a map, into `object`. The other numbers of fields are unknown, and skipped as in all messages. */
function readObject(reader: Reader, end: number, object: JsonObject, depth: number): JsonObject {
  if (depth > maxDepth) throw new Error("a Struct is nested too deep")
  while (reader.hasNext(end)) {
    const [field, type] = reader.tag()
    if (field === 1) readEntry(reader, reader.end(type), object, depth)
    else reader.skip(type)
  }
  return object
}

/** Reads an entry of the map: its key (1) and its value (2). */
function readEntry(reader: Reader, end: number, object: JsonObject, depth: number): void {
  let name = ""
  let value: JsonValue | undefined
  while (reader.hasNext(end)) {
    const [field, type] = reader.tag()
    if (field === 1) name = text(reader, type)
    else if (field === 2) value = readValue(reader, reader.end(type), value, depth)
    else reader.skip(type)
  }
  // An assignment would change the prototype.
  if (name === "__proto__")
    Object.defineProperty(object, name, { value: value ?? null, writable: true, enumerable: true, configurable: true })
  else object[name] = value ?? null
}

/**
 * Reads a google.protobuf.Value. Its fields are null_value (1), number_value (2), string_value (3), bool_value (4), struct_value (5) and
 * list_value (6), of which the last one counts.
 *
 * @param value What the same Value was before; undefined if it has not occurred yet.
 */
function readValue(reader: Reader, end: number, value: JsonValue | undefined, depth: number): JsonValue | undefined {
  while (reader.hasNext(end)) {
    const [field, type] = reader.tag()
    if (field === 1) {
      must(type, WireType.Varint)
      reader.int32()
      value = null
    } else if (field === 2) {
      must(type, WireType.Bit64)
      value = reader.double()
    } else if (field === 3) value = text(reader, type)
    else if (field === 4) {
      must(type, WireType.Varint)
      value = reader.bool()
    } else if (field === 5)
      value = readObject(reader, reader.end(type), isObject(value) ? (value as JsonObject) : {}, depth + 1)
    else if (field === 6) value = readList(reader, reader.end(type), Array.isArray(value) ? value : [], depth + 1)
    else reader.skip(type)
  }
  return value
}

function text(reader: Reader, type: WireType): string {
  must(type, WireType.LengthDelimited)
  return reader.string(true)
}

/** Reads the values of a google.protobuf.ListValue into `list`. */
function readList(reader: Reader, end: number, list: JsonValue[], depth: number): JsonValue[] {
  if (depth > maxDepth) throw new Error("a Struct is nested too deep")
  while (reader.hasNext(end)) {
    const [field, type] = reader.tag()
    if (field === 1) list.push(readValue(reader, reader.end(type), undefined, depth) ?? null)
    else reader.skip(type)
  }
  return list
}
