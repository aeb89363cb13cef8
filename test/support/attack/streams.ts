import { once } from "node:events"
import http2 from "node:http2"

/** A stream of a client that does not behave. */
export interface AttackStream {
  readonly stream: http2.ClientHttp2Stream
  /** The grpc-status, else the status of HTTP, as far as there is one. */
  readonly status: string | undefined
  /** Bytes of the answer that were taken. */
  readonly receivedBytes: number
  /** False once the service has closed both sides. */
  readonly open: boolean
  readonly closed: Promise<void>
}

/** A connection of HTTP/2 that opens such streams. */
export interface AttackConnection {
  readonly session: http2.ClientHttp2Session
  /** The streams that the service has not closed. */
  readonly openStreams: number
  /** How many streams the service lets it have open; 0 until it has said so. */
  readonly maxStreams: number
  /** Opens a stream. Its body, if there is one, is all that is sent on it. */
  open(header: http2.OutgoingHttpHeaders, body?: Buffer): AttackStream
  /** Resolves when the service has seen all that was sent before; rejects if the connection is gone. */
  seen(): Promise<unknown>
  close(): void
}

/** Answers on such a connection get no further than their header. */
export const takesNothing: http2.Settings = { initialWindowSize: 0 }

/** Opens a connection. */
export function attackConnection(url: string, settings: http2.Settings = {}): AttackConnection {
  const session = http2.connect(url, { settings })
  // How a connection ends is told by its streams.
  session.on("error", () => {})
  const connected = once(session, "remoteSettings")
  connected.catch(() => {})
  let maxStreams = 0
  session.on("remoteSettings", ({ maxConcurrentStreams = 0 }) => {
    maxStreams = maxConcurrentStreams
  })
  // Not all that there have been: an attack may go on for long.
  const open = new Set<AttackStream>()
  return {
    session,
    get maxStreams() {
      return maxStreams
    },
    get openStreams() {
      // One that the service has closed while this side was sending may have to send yet, to find that out.
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

/** How a stream is closed by the service: `16 NO_ERROR`, or `still open` if it is not in time. */
export async function endOf(one: AttackStream, withinMs = 5_000): Promise<string> {
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
  // Where the window is closed nothing comes, and the window stays as it is.
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

/** The name of a code of HTTP/2: `ENHANCE_YOUR_CALM`. */
function codeName(code: number | undefined): string {
  const [name] = Object.entries(http2.constants).find(([key, value]) => isErrorCode.test(key) && value === code) ?? []
  return name?.replace("NGHTTP2_", "") ?? `code ${code}`
}

const isErrorCode =
  /^NGHTTP2_(NO_ERROR|(PROTOCOL|INTERNAL|FLOW_CONTROL|FRAME_SIZE|COMPRESSION|CONNECT)_ERROR|SETTINGS_TIMEOUT|STREAM_CLOSED|REFUSED_STREAM|CANCEL|ENHANCE_YOUR_CALM|INADEQUATE_SECURITY|HTTP_1_1_REQUIRED)$/
