import type { Random } from "../random.ts"

/** The preface of every HTTP/2 connection (RFC 9113, section 3.4). */
export const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")

export const types = {
  data: 0,
  headers: 1,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
}
export const flags = { ack: 1, endStream: 1, endHeaders: 4 }

/** Returns an HTTP/2 frame (RFC 9113, section 4.1). */
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

/**
 * Encodes headers with HPACK. Each is a literal without indexing (RFC 7541, section 6.2.2), so that it can contain any
 * bytes.
 */
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

/** Returns the frames of a request on a new connection. */
export function requestFrames(path: string, headers: readonly (readonly [string, string])[], body: Buffer): Buffer[] {
  const pseudo = [
    [":method", "POST"],
    [":scheme", "http"],
    [":path", path],
    [":authority", "localhost"],
  ] as const
  return [
    http2Frame(types.settings, 0, 0, Buffer.alloc(0)),
    http2Frame(types.headers, flags.endHeaders, 1, headerBlock([...pseudo, ...headers])),
    http2Frame(types.data, flags.endStream, 1, body),
  ]
}

/** Returns a SETTINGS frame with these identifiers and values. */
export function settingsFrame(values: readonly (readonly [id: number, value: number])[]): Buffer {
  const payload = Buffer.alloc(6 * values.length)
  for (const [index, [id, value]] of values.entries()) {
    payload.writeUInt16BE(id, 6 * index)
    payload.writeUInt32BE(value, 6 * index + 2)
  }
  return http2Frame(types.settings, 0, 0, payload)
}

export function headersFrame(
  stream: number,
  headers: readonly (readonly [string, string])[],
  more: number = 0,
): Buffer {
  return http2Frame(types.headers, flags.endHeaders | more, stream, headerBlock(headers))
}

/** The largest payload of a frame that every peer accepts (RFC 9113, section 4.2). */
const largestPayload = 16_384

/** Returns a body in as many DATA frames as it needs. */
export function dataFrames(stream: number, body: Buffer, ends: boolean): Buffer[] {
  const count = Math.max(1, Math.ceil(body.length / largestPayload))
  return Array.from({ length: count }, (_, index) =>
    http2Frame(
      types.data,
      ends && index === count - 1 ? flags.endStream : 0,
      stream,
      body.subarray(index * largestPayload, (index + 1) * largestPayload),
    ),
  )
}

export function windowFrame(stream: number, increment: number): Buffer {
  return http2Frame(types.windowUpdate, 0, stream, number(increment))
}

export function resetFrame(stream: number, code: number): Buffer {
  return http2Frame(types.rstStream, 0, stream, number(code))
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** Removes, duplicates or inserts frames at random. */
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
      return many(settings(random))
    case 2:
      return many(http2Frame(types.continuation, 0, stream, payload))
    case 3:
      return [windowFrame(stream, random.pick([0, 0x7fffffff, 0xffffffff]))]
    case 4:
      return [http2Frame(types.rstStream, 0, stream, random.bytes(4))]
    case 5:
      // Announces a length that is larger than the payload or than allowed.
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
  return settingsFrame([[random.below(9), random.pick([0, 1, 65_535, 0x7fffffff, 0xffffffff, 16_384])]])
}
