import {
  type PipelineAnswer,
  type PipelineRequest,
  PipelineRequestSchema,
  type PipelineResponse,
  PipelineResponseSchema,
} from "@authwire/proto"
import { fromBinary, toBinary } from "@bufbuild/protobuf"

// What @bufbuild/protobuf does with any message, written out for the two that carry every call. It copies each call's
// message once, where the general way copies it with every level that it stands in. Whatever is out of the ordinary is
// left to the general way, so that both read and write the same.

/** The bytes of a request. */
export function encodeRequest(request: PipelineRequest): Buffer {
  const { calls, cancelledIds } = request
  if (cancelledIds.length > 0 || !calls.every(({ header }) => isEmpty(header))) {
    const bytes = toBinary(PipelineRequestSchema, request)
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }
  let length = 0
  const lengths: number[] = []
  for (const { id, method, message, timeoutMs } of calls) {
    const timeout = timeoutMs === undefined ? 0 : 1 + sizeOf(timeoutMs)
    // The name of a method is ASCII.
    const own = 1 + sizeOf(id) + sizeOfField(method.length) + sizeOfField(message.length) + timeout
    lengths.push(own)
    length += sizeOfField(own)
  }
  const bytes = Buffer.allocUnsafe(length)
  let at = 0
  for (const [index, { id, method, message, timeoutMs }] of calls.entries()) {
    at = writeVarint(bytes, at, 0x0a, lengths[index] as number)
    at = writeVarint(bytes, at, 0x08, id)
    at = writeVarint(bytes, at, 0x12, method.length)
    at += bytes.write(method, at, "latin1")
    at = writeVarint(bytes, at, 0x1a, message.length)
    bytes.set(message, at)
    at += message.length
    if (timeoutMs !== undefined) at = writeVarint(bytes, at, 0x20, timeoutMs)
  }
  return bytes
}

/** Reads a response. Throws if it is none. The messages of its answers are views of the bytes. */
export function decodeResponse(bytes: Buffer): PipelineResponse {
  const answers: PipelineAnswer[] = []
  const cursor = { at: 0 }
  while (cursor.at < bytes.length) {
    const answer = bytes[cursor.at++] === 0x12 ? answerAt(bytes, cursor) : undefined
    if (answer === undefined) return fromBinary(PipelineResponseSchema, bytes)
    answers.push(answer)
  }
  return { $typeName: "authwire.v1.PipelineResponse", answers, draining: false }
}

/** An answer that has an id and a message, in this order; undefined if it is anything else. */
function answerAt(bytes: Buffer, cursor: { at: number }): PipelineAnswer | undefined {
  const length = readVarint(bytes, cursor)
  const end = cursor.at + length
  if (bytes[cursor.at++] !== 0x08) return undefined
  const id = readVarint(bytes, cursor)
  if (bytes[cursor.at++] !== 0x12) return undefined
  const messageLength = readVarint(bytes, cursor)
  if (!(end <= bytes.length) || cursor.at + messageLength !== end || !Number.isInteger(id)) return undefined
  const message = bytes.subarray(cursor.at, end)
  cursor.at = end
  return { $typeName: "authwire.v1.PipelineAnswer", id, outcome: { case: "message", value: message } }
}

function isEmpty(object: object): boolean {
  for (const _ in object) return false
  return true
}

function sizeOfField(length: number): number {
  return 1 + sizeOf(length) + length
}

/** How many bytes a number has as varint. */
function sizeOf(value: number): number {
  return value < 0x80 ? 1 : value < 0x4000 ? 2 : value < 0x200000 ? 3 : value < 0x10000000 ? 4 : 5
}

function writeVarint(bytes: Buffer, start: number, tag: number, value: number): number {
  let at = start
  bytes[at++] = tag
  let left = value
  while (left >= 0x80) {
    bytes[at++] = (left & 0x7f) | 0x80
    left >>>= 7
  }
  bytes[at++] = left
  return at
}

/** A number below 2^28; NaN if it is larger or cut off. */
function readVarint(bytes: Buffer, cursor: { at: number }): number {
  let value = 0
  for (let shift = 0; shift < 28; shift += 7) {
    const byte = bytes[cursor.at++]
    if (byte === undefined) return Number.NaN
    value |= (byte & 0x7f) << shift
    if (byte < 0x80) return value
  }
  return Number.NaN
}
