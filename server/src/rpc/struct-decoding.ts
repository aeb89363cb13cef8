import type { JsonObject, JsonValue } from "@bufbuild/protobuf"
import { BinaryReader } from "@bufbuild/protobuf/wire"
import { isObject, maxJsonDepth } from "../util/json.js"

/** The depth at which the decoder gives up. A lower one that is too deep is an error that names its place: see `checkStructs`. */
const maxDepth = 2 * maxJsonDepth

/**
 * Decodes the occurrences of a google.protobuf.Struct, which are merged, to the JSON object of fromBinary. For fromBinary each value becomes
 * two or three messages first, so that it takes several times as long, and no other call is served meanwhile. Throws if the bytes are no
 * Struct.
 */
export function decodeStruct(occurrences: readonly Uint8Array[]): JsonObject {
  const object: JsonObject = {}
  for (const bytes of occurrences) if (bytes.length > 0) readObject(new BinaryReader(bytes), bytes.length, object, 1)
  return object
}

/** Reads a google.protobuf.Struct, a map, into `object`. The other numbers of fields are unknown, and skipped as in all messages. */
function readObject(reader: BinaryReader, end: number, object: JsonObject, depth: number): JsonObject {
  if (depth > maxDepth) throw new Error("a Struct is nested too deep")
  while (reader.pos < end) {
    const [field, type] = reader.tag()
    if (field === 1) readEntry(reader, reader.uint32() + reader.pos, object, depth)
    else reader.skip(type, field)
  }
  return object
}

/** Reads an entry of the map: its key (1) and its value (2). */
function readEntry(reader: BinaryReader, end: number, object: JsonObject, depth: number): void {
  let name = ""
  let value: JsonValue | undefined
  while (reader.pos < end) {
    const [field, type] = reader.tag()
    if (field === 1) name = reader.string(true)
    else if (field === 2) value = readValue(reader, reader.uint32() + reader.pos, value, depth)
    else reader.skip(type, field)
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
function readValue(
  reader: BinaryReader,
  end: number,
  value: JsonValue | undefined,
  depth: number,
): JsonValue | undefined {
  while (reader.pos < end) {
    const [field, type] = reader.tag()
    if (field === 1) {
      reader.int32()
      value = null
    } else if (field === 2) value = reader.double()
    else if (field === 3) value = reader.string(true)
    else if (field === 4) value = reader.bool()
    else if (field === 5)
      value = readObject(reader, reader.uint32() + reader.pos, isObject(value) ? (value as JsonObject) : {}, depth + 1)
    else if (field === 6)
      value = readList(reader, reader.uint32() + reader.pos, Array.isArray(value) ? value : [], depth + 1)
    else reader.skip(type, field)
  }
  return value
}

/** Reads the values of a google.protobuf.ListValue into `list`. */
function readList(reader: BinaryReader, end: number, list: JsonValue[], depth: number): JsonValue[] {
  if (depth > maxDepth) throw new Error("a Struct is nested too deep")
  while (reader.pos < end) {
    const [field, type] = reader.tag()
    if (field === 1) list.push(readValue(reader, reader.uint32() + reader.pos, undefined, depth) ?? null)
    else reader.skip(type, field)
  }
  return list
}
