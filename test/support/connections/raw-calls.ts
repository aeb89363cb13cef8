import http from "node:http"
import http2 from "node:http2"
import { SessionService } from "@authwire/proto"
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
/** The path of a lookup of a session. */
export const path = `/${method.parent.typeName}/${method.name}`
/** Encodes a lookup of a session. */
export const messageOf = (sessionToken: string) =>
  Buffer.from(toBinary(method.input, create(method.input, { sessionToken })))

/** Returns the reason of an error, and whether it has a RetryInfo. */
export function endOf(error: Buffer): RawOutcome {
  const again = error.includes("google.rpc.RetryInfo") ? " again" : ""
  return (/[A-Z]+(?:_[A-Z]+)*(?=[^A-Z_]+authwire)/.exec(error.toString("latin1"))?.[0] ?? "no reason") + again
}

/** Returns the reason of an error of gRPC, from its headers or trailers. */
export function endOfHeaders(headers: http2.IncomingHttpHeaders): RawOutcome {
  return endOf(Buffer.from(String(headers["grpc-status-details-bin"] ?? ""), "base64"))
}

/** The header with the API key, if the service requires one. */
export const authorization = (apiKey: string | undefined) =>
  apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }

/** A connection that is opened again when the service has closed it. */
export function lastingConnection(url: string) {
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
