import type { Random } from "../random.ts"

/** What every HTTP/2 connection opens with (RFC 9113, section 3.4). */
export const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")

const types = { data: 0, headers: 1, rstStream: 3, settings: 4, ping: 6, windowUpdate: 8, continuation: 9 }
const [endStream, endHeaders] = [1, 4]

/** A frame of HTTP/2 (RFC 9113, section 4.1). */
export function http2Frame(
  type: number,
  flags: number,
  stream: number,
  payload: Uint8Array,
  length = payload.length,
): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(length & 0xffffff, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(stream >>> 0, 5)
  return Buffer.concat([head, payload])
}

/** Headers as HPACK, each as a literal that is not indexed (RFC 7541, section 6.2.2): any bytes can stand there. */
export function headerBlock(headers: readonly (readonly [string, string])[]): Buffer {
  const text = (value: string) => {
    const bytes = Buffer.from(value, "latin1")
    return Buffer.concat([hpackLength(bytes.length), bytes])
  }
  return Buffer.concat(headers.flatMap(([name, value]) => [Buffer.of(0), text(name), text(value)]))
}

function hpackLength(length: number): Buffer {
  if (length < 127) return Buffer.of(length)
  const bytes = [127]
  let left = length - 127
  for (; left >= 128; left >>>= 7) bytes.push((left & 127) | 128)
  return Buffer.from([...bytes, left])
}

/** A request on a connection of its own, as frames. */
export function requestFrames(path: string, headers: readonly (readonly [string, string])[], body: Buffer): Buffer[] {
  const pseudo = [
    [":method", "POST"],
    [":scheme", "http"],
    [":path", path],
    [":authority", "localhost"],
  ] as const
  return [
    http2Frame(types.settings, 0, 0, Buffer.alloc(0)),
    http2Frame(types.headers, endHeaders, 1, headerBlock([...pseudo, ...headers])),
    http2Frame(types.data, endStream, 1, body),
  ]
}

/** Puts frames among others that do not belong there. */
export function mutateFrames(random: Random, frames: readonly Buffer[]): Buffer[] {
  const result = [...frames]
  for (let count = 1 + random.below(4); count > 0; count--) {
    const at = random.below(result.length + 1)
    const kind = random.below(4)
    if (kind === 0 && result.length > 0) result.splice(at % result.length, 1)
    else if (kind === 1 && result.length > 0) result.splice(at, 0, result[at % result.length] as Buffer)
    else result.splice(at, 0, ...strangeFrames(random))
  }
  return result
}

function strangeFrames(random: Random): Buffer[] {
  const stream = random.pick([0, 1, 1, 1, 2, 3, 5, 0x7fffffff, 0xffffffff])
  const payload = random.bytes(random.pick([0, 1, 4, 5, 6, 8, 8, 20, 300]))
  const many = (frame: Buffer) => Array.from({ length: 1 + random.below(50) }, () => frame)
  switch (random.below(8)) {
    case 0:
      return many(http2Frame(types.ping, 0, 0, random.bytes(8)))
    case 1:
      return many(http2Frame(types.settings, 0, 0, settings(random)))
    case 2:
      return many(http2Frame(types.continuation, 0, stream, payload))
    case 3:
      return [
        http2Frame(
          types.windowUpdate,
          0,
          stream,
          Buffer.from(random.pick(["00000000", "7fffffff", "ffffffff"]), "hex"),
        ),
      ]
    case 4:
      return [http2Frame(types.rstStream, 0, stream, random.bytes(4))]
    case 5:
      // Says that it is longer than it is, or than it may be.
      return [
        http2Frame(
          random.below(10),
          random.below(256),
          stream,
          payload,
          random.pick([0xffffff, 16_385, payload.length + 1]),
        ),
      ]
    default:
      return [http2Frame(random.below(12), random.below(256), stream, payload)]
  }
}

function settings(random: Random): Buffer {
  const one = Buffer.alloc(6)
  one.writeUInt16BE(random.below(9), 0)
  one.writeUInt32BE(random.pick([0, 1, 65_535, 0x7fffffff, 0xffffffff, 16_384]), 2)
  return one
}
