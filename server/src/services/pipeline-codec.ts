import {
  type PipelineAnswer,
  type PipelineCall,
  type PipelineRequest,
  PipelineRequestSchema,
  type PipelineResponse,
  PipelineResponseSchema,
} from "@authwire/proto"
import { type Status, StatusSchema } from "@authwire/proto/rpc/status"
import { fromBinary, toBinary } from "@bufbuild/protobuf"
import type { Codec } from "../dispatch/dispatch.js"
import { keepsRules } from "../dispatch/validation.js"

// What @bufbuild/protobuf does with any message, written out for the two that carry every call. It copies each answer
// once, where the general way copies it with every level that it stands in. Whatever is out of the ordinary is left to
// the general way, so that both read and write the same.

// The rules that the schema has for them (proto/authwire/v1/pipeline_service.proto). A test holds the two together.
const maxCalls = 4096
const maxMethodBytes = 255
const maxMessageBytes = 67108864

/**
 * Reads a request. Throws if it is none. The messages of its calls are views of the bytes. What is not left to the general
 * way keeps the rules of the schema.
 */
export function decodeRequest(bytes: Buffer): PipelineRequest {
  const calls: PipelineCall[] = []
  const cursor = { at: 0 }
  while (cursor.at < bytes.length) {
    const call = bytes[cursor.at++] === 0x0a ? callAt(bytes, cursor) : undefined
    if (call === undefined) return fromBinary(PipelineRequestSchema, bytes)
    calls.push(call)
  }
  const request: PipelineRequest = { $typeName: "authwire.v1.PipelineRequest", calls, cancelledIds: [] }
  return calls.length > maxCalls ? request : Object.assign(request, { [keepsRules]: true })
}

/** A call that has id, method, message and perhaps a time-out, in this order; undefined if it is anything else. */
function callAt(bytes: Buffer, cursor: { at: number }): PipelineCall | undefined {
  const end = readVarint(bytes, cursor) + cursor.at
  if (bytes[cursor.at++] !== 0x08) return undefined
  const id = readVarint(bytes, cursor)
  if (bytes[cursor.at++] !== 0x12) return undefined
  const method = partAt(bytes, cursor, end)
  if (method === undefined || bytes[cursor.at++] !== 0x1a) return undefined
  const message = partAt(bytes, cursor, end)
  const hasTimeout = cursor.at < end
  if (hasTimeout && bytes[cursor.at++] !== 0x20) return undefined
  const timeoutMs = hasTimeout ? readVarint(bytes, cursor) : undefined
  const name = method.toString("latin1")
  if (message === undefined || cursor.at !== end || end > bytes.length || !isAscii(name)) return undefined
  if (name.length === 0 || name.length > maxMethodBytes || message.length > maxMessageBytes) return undefined
  if (!Number.isInteger(id) || (hasTimeout && !Number.isInteger(timeoutMs))) return undefined
  const call: PipelineCall = { $typeName: "authwire.v1.PipelineCall", id, method: name, message, header: {} }
  if (timeoutMs !== undefined) call.timeoutMs = timeoutMs
  return call
}

/** A length and as many bytes; undefined if they are not there. */
function partAt(bytes: Buffer, cursor: { at: number }, end: number): Buffer | undefined {
  const length = readVarint(bytes, cursor)
  const start = cursor.at
  if (!(start + length <= end && end <= bytes.length)) return undefined
  cursor.at = start + length
  return bytes.subarray(start, cursor.at)
}

/** Reads and writes the messages of PipelineService. */
export const pipelineCodec: Codec = {
  decode: decodeRequest,
  encode: (answer) => encodeResponse(answer as PipelineResponse),
}

/** The bytes of a response. */
export function encodeResponse(response: PipelineResponse): Uint8Array {
  const { answers, settings, draining } = response
  if (settings !== undefined || draining || !answers.every(({ outcome }) => outcome.case !== undefined)) {
    return toBinary(PipelineResponseSchema, response)
  }
  let length = 0
  const lengths: number[] = []
  for (const { id, outcome } of answers) {
    const own = (id === 0 ? 0 : 1 + sizeOf(id)) + sizeOfField(bytesOf(outcome).length)
    lengths.push(own)
    length += sizeOfField(own)
  }
  const bytes = Buffer.allocUnsafe(length)
  let at = 0
  for (const [index, { id, outcome }] of answers.entries()) {
    const message = bytesOf(outcome)
    at = writeVarint(bytes, at, 0x12, lengths[index] as number)
    if (id !== 0) at = writeVarint(bytes, at, 0x08, id)
    at = writeVarint(bytes, at, outcome.case === "message" ? 0x12 : 0x1a, message.length)
    bytes.set(message, at)
    at += message.length
  }
  return bytes
}

// Under a flood many calls have the same error.
const errors = new WeakMap<Status, Uint8Array>()

function bytesOf(outcome: PipelineAnswer["outcome"]): Uint8Array {
  if (outcome.case !== "error") return outcome.value as Uint8Array
  const known = errors.get(outcome.value)
  if (known !== undefined) return known
  const bytes = toBinary(StatusSchema, outcome.value)
  errors.set(outcome.value, bytes)
  return bytes
}

function isAscii(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 0x7f) return false
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
