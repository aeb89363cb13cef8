import type { JsonObject, JsonValue } from "@bufbuild/protobuf"

// The tags of google.protobuf.Value, and of an entry of a Struct and an item of a ListValue.
const [nullTag, numberTag, textTag, booleanTag, structTag, listTag] = [0x08, 0x11, 0x1a, 0x20, 0x2a, 0x32]
const [entryTag, keyTag, valueTag, itemTag] = [0x0a, 0x0a, 0x12, 0x0a]

/**
 * Encodes a JSON object as a google.protobuf.Struct, to the bytes of toBinary after their length. For toBinary each value becomes
 * two or three messages first, so that it takes several times as long, and no other call is served meanwhile.
 */
export function encodeStruct(object: JsonObject): Uint8Array {
  const writer = new BackwardWriter()
  writeObject(writer, object)
  writer.varint(writer.length)
  return writer.written()
}

function writeObject(writer: BackwardWriter, object: JsonObject): void {
  for (const name of Object.keys(object).reverse()) {
    const end = writer.length
    writeValue(writer, object[name])
    writer.field(valueTag, writer.length - end)
    writer.text(keyTag, name)
    writer.field(entryTag, writer.length - end)
  }
}

function writeList(writer: BackwardWriter, list: readonly JsonValue[]): void {
  for (let index = list.length - 1; index >= 0; index--) {
    const end = writer.length
    writeValue(writer, list[index])
    writer.field(itemTag, writer.length - end)
  }
}

function writeValue(writer: BackwardWriter, value: JsonValue | undefined): void {
  const end = writer.length
  if (value === null) writer.field(nullTag, 0)
  else if (typeof value === "number") writer.double(numberTag, value)
  else if (typeof value === "string") writer.text(textTag, value)
  else if (typeof value === "boolean") writer.field(booleanTag, Number(value))
  else if (Array.isArray(value)) {
    writeList(writer, value)
    writer.field(listTag, writer.length - end)
  } else if (value !== undefined) {
    writeObject(writer, value)
    writer.field(structTag, writer.length - end)
  }
}

/** Writes from the end to the beginning, so that a part is complete when its length is written before it. */
class BackwardWriter {
  #bytes = Buffer.allocUnsafe(512)
  /** Where the written bytes begin. */
  #at = this.#bytes.length

  get length(): number {
    return this.#bytes.length - this.#at
  }

  written(): Uint8Array {
    return this.#bytes.subarray(this.#at)
  }

  /** Writes a tag and a varint, which is the value or the length of what follows. */
  field(tag: number, value: number): void {
    this.varint(value)
    this.#reserve(1)
    this.#bytes[this.#at] = tag
  }

  double(tag: number, value: number): void {
    this.#reserve(9)
    this.#bytes[this.#at] = tag
    this.#bytes.writeDoubleLE(value, this.#at + 1)
  }

  text(tag: number, text: string): void {
    const size = Buffer.byteLength(text)
    this.#reserve(size)
    this.#bytes.write(text, this.#at)
    this.field(tag, size)
  }

  varint(value: number): void {
    let size = 1
    for (let rest = value >>> 7; rest > 0; rest >>>= 7) size++
    this.#reserve(size)
    let [rest, at] = [value, this.#at]
    for (; rest > 0x7f; rest >>>= 7) this.#bytes[at++] = (rest & 0x7f) | 0x80
    this.#bytes[at] = rest
  }

  #reserve(size: number): void {
    if (this.#at < size) {
      const { length } = this
      const larger = Buffer.allocUnsafe(Math.max(2 * this.#bytes.length, length + size))
      this.#bytes.copy(larger, larger.length - length, this.#at)
      this.#bytes = larger
      this.#at = larger.length - length
    }
    this.#at -= size
  }
}
