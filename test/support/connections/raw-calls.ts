import http from "node:http"
import http2 from "node:http2"
import { PipelineAnswerSchema, PipelineService, SessionService } from "@authwire/proto"
import { create, toBinary } from "@bufbuild/protobuf"

/**
 * How a call ended: `ok`, or a reason, with ` again` if there is a RetryInfo: `SESSION_NOT_FOUND`, `OVERLOADED again`.
 * `REFUSED_STREAM` if HTTP/2 says that the call was not processed.
 */
export type RawOutcome = string

/** Called for each call that ended, with the time since it was sent, in milliseconds. */
export type Heard = (outcome: RawOutcome, ms: number) => void

/** Sends pre-encoded lookups of sessions, at the rate of a client that wants to send many. */
export interface RawCalls {
  /** Sends `count` calls, or as many as the transport accepts. @returns the number sent. */
  send(count: number): number
  /** The number of calls without an answer. */
  readonly waiting: number
  close(): void
}

const method = SessionService.method.getSessionAndUser
const path = `/${method.parent.typeName}/${method.name}`
const messageOf = (sessionToken: string) => Buffer.from(toBinary(method.input, create(method.input, { sessionToken })))

/** Returns the reason of an error, and whether it has a RetryInfo. */
function endOf(error: Buffer): RawOutcome {
  const again = error.includes("google.rpc.RetryInfo") ? " again" : ""
  return (/[A-Z]+(?:_[A-Z]+)*(?=[^A-Z_]+authwire)/.exec(error.toString("latin1"))?.[0] ?? "no reason") + again
}

function endOfHeaders(headers: http2.IncomingHttpHeaders): RawOutcome {
  return endOf(Buffer.from(String(headers["grpc-status-details-bin"] ?? ""), "base64"))
}

/** The header with the API key, if the service requires one. */
const authorization = (apiKey: string | undefined) =>
  apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }

/** A connection that is opened again when the service has closed it. */
function lastingConnection(url: string) {
  let isClosed = false
  const connect = (): http2.ClientHttp2Session => {
    const session = http2.connect(url)
    session.on("error", () => {})
    session.once("close", () => {
      if (!isClosed) current = connect()
    })
    return session
  }
  let current = connect()
  return {
    /** Undefined while the connection is closed. */
    get session(): http2.ClientHttp2Session | undefined {
      return current.closed || current.destroyed ? undefined : current
    },
    close() {
      isClosed = true
      current.destroy()
    },
  }
}

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

/**
 * Makes unary calls over one connection, which is opened again if the service closes it. There are as many concurrent
 * calls as the service allows a connection.
 */
export function rawUnaryCalls(url: string, tokens: readonly string[], heard: Heard, apiKey?: string): RawCalls {
  const connection = lastingConnection(url)
  const bodies = tokens.map((token) => {
    const message = messageOf(token)
    return Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message])
  })
  let waiting = 0
  let next = 0
  return {
    send(count) {
      let sending = 0
      const { session } = connection
      const most = Math.min(session?.remoteSettings?.maxConcurrentStreams ?? 100, 100)
      for (; sending < count && waiting < most && session !== undefined; sending++) {
        const start = performance.now()
        waiting++
        const stream = session.request({
          ":method": "POST",
          ":path": path,
          ...authorization(apiKey),
          "content-type": "application/grpc",
          te: "trailers",
        })
        let trailers: http2.IncomingHttpHeaders = {}
        const noteTrailers = (headers: http2.IncomingHttpHeaders) => {
          trailers = headers["grpc-status"] === undefined ? trailers : headers
        }
        stream.on("response", noteTrailers).on("trailers", noteTrailers)
        stream.on("error", () => {})
        stream.on("close", () => {
          waiting--
          if (stream.rstCode === http2.constants.NGHTTP2_REFUSED_STREAM) {
            heard("REFUSED_STREAM", performance.now() - start)
            return
          }
          heard(trailers["grpc-status"] === "0" ? "ok" : endOfHeaders(trailers), performance.now() - start)
        })
        stream.resume()
        stream.end(bodies[next++ % bodies.length])
      }
      return sending
    },
    get waiting() {
      return waiting
    },
    close: connection.close,
  }
}

/** Makes Connect calls over `connections` connections of HTTP/1.1, one at a time on each. */
export function rawConnectCalls(
  url: string,
  tokens: readonly string[],
  heard: Heard,
  { apiKey, connections = 16 }: { apiKey?: string; connections?: number } = {},
): RawCalls {
  const agent = new http.Agent({ keepAlive: true, maxSockets: connections })
  const bodies = tokens.map(messageOf)
  let waiting = 0
  let next = 0
  return {
    send(count) {
      let sending = 0
      for (; sending < count && waiting < connections; sending++) {
        const start = performance.now()
        waiting++
        const body = bodies[next++ % bodies.length] as Buffer
        const headers = {
          "content-type": "application/proto",
          "connect-protocol-version": "1",
          ...authorization(apiKey),
          "content-length": body.length,
        }
        const request = http.request(url + path, { agent, method: "POST", headers }, (response) => {
          const chunks: Buffer[] = []
          response.on("data", (chunk: Buffer) => chunks.push(chunk))
          response.on("close", () => {
            const ok = response.statusCode === 200
            heard(ok ? "ok" : endOf(Buffer.concat(chunks)), performance.now() - start)
          })
        })
        request.on("error", () => heard("other", performance.now() - start))
        request.on("close", () => {
          waiting--
        })
        request.end(body)
      }
      return sending
    },
    get waiting() {
      return waiting
    },
    close: () => agent.destroy(),
  }
}
