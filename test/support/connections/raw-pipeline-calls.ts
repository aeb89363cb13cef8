import type http2 from "node:http2"
import { PipelineAnswerSchema, PipelineService } from "@authwire/proto"
import {
  authorization,
  endOf,
  endOfHeaders,
  type Heard,
  lastingConnection,
  messageOf,
  path,
  type RawCalls,
  type RawOutcome,
} from "./raw-calls.ts"

/**
 * Sends calls through one pipeline on its own connection, message after message, without regard to the service's
 * limits. A pipeline or a connection that the service has closed is opened again.
 */
export function rawPipelineCalls(url: string, tokens: readonly string[], heard: Heard, apiKey?: string): RawCalls {
  const connection = lastingConnection(url)
  const frames = tokens.map((token) => callFrame(messageOf(token)))
  const sent = new Map<number, number>()
  let id = firstId
  let next = 0
  let full = false
  const open = (session: http2.ClientHttp2Session) => {
    full = false
    const stream = session.request({
      ":method": "POST",
      ":path": `/${PipelineService.typeName}/${PipelineService.method.pipeline.name}`,
      ...authorization(apiKey),
      "content-type": "application/grpc",
      te: "trailers",
    })
    stream.on("error", () => {})
    stream.on("drain", () => {
      full = false
    })
    readFrames(stream, (response) => {
      const now = performance.now()
      for (const { id, outcome } of answersOf(response)) {
        const start = sent.get(id)
        if (start === undefined) continue
        sent.delete(id)
        heard(outcome === undefined ? "ok" : endOf(outcome), now - start)
      }
    })
    let end: RawOutcome = "closed"
    const noteEnd = (headers: http2.IncomingHttpHeaders) => {
      if (headers["grpc-status"] !== undefined) end = endOfHeaders(headers)
    }
    stream.on("response", noteEnd).on("trailers", noteEnd)
    stream.on("close", () => {
      const now = performance.now()
      const left = [...sent.values()]
      sent.clear()
      for (const start of left) heard(end, now - start)
    })
    return stream
  }
  let stream: http2.ClientHttp2Stream | undefined
  return {
    send(count) {
      const { session } = connection
      if (session === undefined || count === 0) return 0
      if (stream === undefined || stream.closed) stream = open(session)
      if (full) return 0
      const now = performance.now()
      const parts: Buffer[] = [Buffer.alloc(5)]
      let length = 0
      for (let sending = 0; sending < count; sending++) {
        const frame = Buffer.from(frames[next++ % frames.length] as Buffer)
        id = id === lastId ? firstId : id + 1
        writeId(frame, id)
        sent.set(id, now)
        parts.push(frame)
        length += frame.length
      }
      parts[0]?.writeUInt32BE(length, 1)
      full = !stream.write(Buffer.concat(parts))
      return count
    },
    get waiting() {
      return sent.size
    },
    close: connection.close,
  }
}

/** Ids that are encoded in four bytes, so that one can be overwritten with another. */
const firstId = 2 ** 21
const lastId = 2 ** 28 - 1
const idAt = 3

/** Encodes a call as an element of PipelineRequest.calls. Its message has only a few bytes. */
function callFrame(message: Buffer): Buffer {
  const name = Buffer.from(path.slice(1))
  const id = [0x08, 0x80, 0x80, 0x80, 0x01]
  const call = Buffer.concat([
    Buffer.from([...id, 0x12, name.length]),
    name,
    Buffer.from([0x1a, message.length]),
    message,
  ])
  if (call.length > 127) throw new Error("the length takes more than a byte")
  return Buffer.concat([Buffer.from([0x0a, call.length]), call])
}

function writeId(frame: Buffer, id: number): void {
  for (let byte = 0; byte < 4; byte++) frame[idAt + byte] = ((id >>> (7 * byte)) & 0x7f) | (byte < 3 ? 0x80 : 0)
}

/** Decodes the answers of a PipelineResponse, with the bytes of the error if there is one. */
function* answersOf(bytes: Buffer): Generator<{ id: number; outcome: Buffer | undefined }> {
  let at = 0
  const varint = () => {
    let value = 0
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++] as number
      value += (byte & 0x7f) * 2 ** shift
      if (byte < 0x80) return value
    }
  }
  while (at < bytes.length) {
    const tag = varint()
    if (tag === draining) at++
    else {
      const end = varint() + at
      if (tag === answers) {
        at++
        const id = varint()
        const isError = bytes[at++] === errorTag
        varint()
        yield { id, outcome: isError ? bytes.subarray(at, end) : undefined }
      }
      at = end
    }
  }
}

const answers = 0x12
const draining = 0x18
const errorTag = (PipelineAnswerSchema.field.error.number << 3) | 2

function readFrames(stream: http2.ClientHttp2Stream, onMessage: (bytes: Buffer) => void): void {
  let left: Buffer = Buffer.alloc(0)
  stream.on("data", (chunk: Buffer) => {
    left = left.length === 0 ? chunk : Buffer.concat([left, chunk])
    while (left.length >= 5 && left.length >= 5 + left.readUInt32BE(1)) {
      const end = 5 + left.readUInt32BE(1)
      onMessage(left.subarray(5, end))
      left = left.subarray(end)
    }
  })
}
