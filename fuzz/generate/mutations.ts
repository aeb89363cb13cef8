import type { Random } from "../random.ts"

/** Boundary values of varints. */
const edges: readonly bigint[] = [
  0n,
  1n,
  127n,
  128n,
  0x7fffffffn,
  0x80000000n,
  0xffffffffn,
  2n ** 63n - 1n,
  2n ** 64n - 1n,
]

/** Encodes a number as a varint of protobuf. */
export function varint(value: bigint | number): Buffer {
  const bytes: number[] = []
  let left = BigInt(value)
  do {
    const low = Number(left & 0x7fn)
    left >>= 7n
    bytes.push(left === 0n ? low : low | 0x80)
  } while (left !== 0n)
  return Buffer.from(bytes)
}

/** Returns a length-delimited field of protobuf. */
export function lengthDelimited(field: number, content: Uint8Array): Buffer {
  return Buffer.concat([varint((field << 3) | 2), varint(content.length), content])
}

/** Changes some bytes without regard to their meaning. */
export function mutateBytes(random: Random, bytes: Buffer): Buffer {
  let result = bytes
  for (let count = 1 + random.below(3); count > 0; count--) result = mutateOnce(random, result)
  return result
}

function mutateOnce(random: Random, bytes: Buffer): Buffer {
  const at = random.below(bytes.length + 1)
  const end = Math.min(bytes.length, at + random.below(20))
  const cut = (...middle: Uint8Array[]) => Buffer.concat([bytes.subarray(0, at), ...middle])
  switch (random.below(8)) {
    case 0:
      return cut()
    case 1:
      return cut(random.bytes(1 + random.below(8)), bytes.subarray(at))
    case 2:
      return cut(bytes.subarray(end))
    case 3:
      return cut(bytes.subarray(at, end), bytes.subarray(at))
    case 4:
      return cut(varint(random.pick(edges)), bytes.subarray(at))
    case 5:
      return cut(
        Buffer.from(random.pick(["ffffffff", "7fffffff", "80000000", "00000000"]), "hex"),
        bytes.subarray(at + 4),
      )
    default: {
      const copy: Buffer = Buffer.from(bytes)
      if (at < copy.length) copy[at] = (copy[at] as number) ^ (1 + random.below(255))
      return copy
    }
  }
}

interface Field {
  number: number
  type: number
  /** The bytes after the tag, including the length if there is one. */
  rest: Buffer
  content: Buffer | undefined
}

/** Mutates a protobuf message field by field. Bytes that cannot be parsed are mutated as bytes. */
export function mutateMessage(random: Random, bytes: Buffer): Buffer {
  const fields = readFields(bytes)
  if (fields === undefined || random.chance(0.3)) return mutateBytes(random, bytes)
  const at = random.below(fields.length)
  const field = fields[at]
  if (field === undefined) return Buffer.concat([bytes, strangeField(random)])
  const written: Buffer[] = fields.map(writeField)
  written.splice(at, 1, ...changed(random, field, written[at] as Buffer))
  return Buffer.concat(written)
}

function changed(random: Random, field: Field, written: Buffer): Buffer[] {
  const { content } = field
  switch (random.below(9)) {
    case 0:
      return []
    case 1:
      return Array.from<Buffer>({ length: 2 + random.below(200) }).fill(written)
    case 2:
      return [writeField({ ...field, type: random.below(8) })]
    case 3:
      return [writeField({ ...field, number: random.pick([0, 1, 2, 7, 15, 16, 19_000, 0x1fffffff]) })]
    case 4:
      return [tag(field.number, 2), varint(random.pick(edges)), content ?? Buffer.alloc(0)]
    case 5:
      return [tag(field.number, 0), Buffer.alloc(random.below(12), 0xff)]
    case 6:
      return [written, strangeField(random)]
    case 7:
      // An invalid byte of UTF-8, a lone surrogate, an overlong encoding, a zero, and a code point beyond U+10FFFF.
      return [
        lengthDelimited(field.number, Buffer.from(random.pick(["ff", "eda080", "c080", "00", "f4908080"]), "hex")),
      ]
    default:
      return content === undefined
        ? [written, written]
        : [lengthDelimited(field.number, mutateMessage(random, content))]
  }
}

function strangeField(random: Random): Buffer {
  const kind = random.below(4)
  if (kind === 0) return Buffer.concat([tag(99, 2), varint(3), random.bytes(3)])
  // Groups: nested but never ended, or ended without a start.
  if (kind === 1) return Buffer.concat(Array.from({ length: 1 + random.below(300) }, () => tag(5, 3)))
  if (kind === 2) return tag(random.below(20), 4)
  return Buffer.concat([tag(1 + random.below(8), random.below(8)), random.bytes(random.below(12))])
}

const tag = (number: number, type: number) => varint((BigInt(number) << 3n) | BigInt(type))

const writeField = ({ number, type, rest }: Field) => Buffer.concat([tag(number, type), rest])

/** Returns the fields of a message; undefined if the bytes cannot be parsed. */
function readFields(bytes: Buffer): Field[] | undefined {
  const fields: Field[] = []
  let at = 0
  const read = (): number => {
    let value = 0
    for (let shift = 0; shift < 49; shift += 7) {
      const byte = bytes[at++]
      if (byte === undefined) return Number.NaN
      value += (byte & 0x7f) * 2 ** shift
      if (byte < 0x80) return value
    }
    return Number.NaN
  }
  while (at < bytes.length) {
    const key = read()
    const type = key % 8
    const start = at
    let contentStart: number | undefined
    if (type === 0) read()
    else if (type === 1) at += 8
    else if (type === 5) at += 4
    else if (type === 2) {
      const length = read()
      contentStart = at
      at += length
    } else return undefined
    if (!(at <= bytes.length)) return undefined
    const content = contentStart === undefined ? undefined : bytes.subarray(contentStart, at)
    fields.push({ number: Math.floor(key / 8), type, rest: bytes.subarray(start, at), content })
  }
  return fields
}
