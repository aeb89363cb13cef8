import { once } from "node:events"
import http2 from "node:http2"

/** A stream of a misbehaving client. */
export interface AttackStream {
  readonly stream: http2.ClientHttp2Stream
  /** The grpc-status, otherwise the HTTP status. Undefined if there is none yet. */
  readonly status: string | undefined
  /** The number of response bytes that were received. */
  readonly receivedBytes: number
  /** False after the service has closed both sides. */
  readonly open: boolean
  readonly closed: Promise<void>
}

/** An HTTP/2 connection that opens such streams. */
export interface AttackConnection {
  readonly session: http2.ClientHttp2Session
  /** The number of streams that the service has not closed. */
  readonly openStreams: number
  /** The service's limit of concurrent streams. 0 before its settings have arrived. */
  readonly maxStreams: number
  /** Opens a stream. Its body, if given, is the only data sent on it. */
  open(header: http2.OutgoingHttpHeaders, body?: Buffer): AttackStream
  /** Resolves when the service has processed everything that was sent before. Rejects if the connection is closed. */
  seen(): Promise<unknown>
  close(): void
}

/** Settings with an initial window of 0, so that only the headers of a response can be sent. */
export const takesNothing: http2.Settings = { initialWindowSize: 0 }

/** Opens a connection. */
export function attackConnection(url: string, settings: http2.Settings = {}): AttackConnection {
  const session = http2.connect(url, { settings })
  // The streams report how the connection ended.
  session.on("error", () => {})
  const connected = once(session, "remoteSettings")
  connected.catch(() => {})
  let maxStreams = 0
  session.on("remoteSettings", ({ maxConcurrentStreams = 0 }) => {
    maxStreams = maxConcurrentStreams
  })
  // Only the streams that may be open, not all streams ever opened, because an attack may run for a long time.
  const open = new Set<AttackStream>()
  return {
    session,
    get maxStreams() {
      return maxStreams
    },
    get openStreams() {
      // If the service has closed a stream while this side was sending, this side may notice that only when it sends
      // again.
      let count = 0
      for (const one of open) if (one.open) count++
      return count
    },
    open(header, body) {
      const one = attackStream(session.request(header, { endStream: false }))
      if (body !== undefined) one.stream.end(body)
      open.add(one)
      one.closed.then(() => open.delete(one))
      return one
    },
    async seen() {
      await connected
      await new Promise<void>((resolve, reject) => session.ping((error) => (error ? reject(error) : resolve())))
    },
    close: () => session.destroy(),
  }
}

/**
 * How the service closed a stream: `16 NO_ERROR`, or `still open` if it did not close it in time, by default before the limit of a
 * message's time would.
 */
export async function endOf(one: AttackStream, withinMs = 15_000): Promise<string> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(resolve, withinMs, "still open")
  })
  const end = await Promise.race([one.closed.then(() => codeName(one.stream.rstCode)), late])
  clearTimeout(timer)
  return [one.status ?? [], end].flat().join(" ")
}

function attackStream(stream: http2.ClientHttp2Stream): AttackStream {
  let status: string | undefined
  let receivedBytes = 0
  const note = (fields: http2.IncomingHttpHeaders) => {
    status = fields["grpc-status"]?.toString() ?? status ?? fields[":status"]?.toString()
  }
  stream.on("response", note).on("trailers", note)
  stream.on("error", () => {})
  // With an initial window of 0 no data arrives, and the window is not enlarged.
  stream.on("data", (chunk: Buffer) => {
    receivedBytes += chunk.length
  })
  const closed = new Promise<void>((resolve) => stream.once("close", resolve))
  return {
    stream,
    closed,
    get status() {
      return status
    },
    get receivedBytes() {
      return receivedBytes
    },
    get open() {
      return !stream.closed
    },
  }
}

/** The name of an HTTP/2 error code: `ENHANCE_YOUR_CALM`. */
function codeName(code: number | undefined): string {
  const [name] = Object.entries(http2.constants).find(([key, value]) => isErrorCode.test(key) && value === code) ?? []
  return name?.replace("NGHTTP2_", "") ?? `code ${code}`
}

const isErrorCode =
  /^NGHTTP2_(NO_ERROR|(PROTOCOL|INTERNAL|FLOW_CONTROL|FRAME_SIZE|COMPRESSION|CONNECT)_ERROR|SETTINGS_TIMEOUT|STREAM_CLOSED|REFUSED_STREAM|CANCEL|ENHANCE_YOUR_CALM|INADEQUATE_SECURITY|HTTP_1_1_REQUIRED)$/
