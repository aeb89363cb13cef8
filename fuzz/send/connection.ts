import { connect } from "node:net"
import { flags, http2Frame, types } from "../generate/http2-frames.ts"
import type { ConnectionInput } from "../inputs.ts"
import type { Outcome } from "../outcome.ts"
import type { Ports } from "../server-process.ts"

/** The time in milliseconds that the server has to read everything. After it the connection is held anyway. */
const readingMs = 5_000
/** A ping that no generator produces, and its answer. */
const ping = http2Frame(types.ping, 0, 0, Buffer.from("the end!"))
const pong = http2Frame(types.ping, flags.ack, 0, Buffer.from("the end!"))

/** Sends bytes piece by piece on a new connection, and keeps it open for `holdMs` after the server has read them. */
export function sendConnection(input: ConnectionInput, ports: Ports): Promise<Outcome> {
  const { bytes, cuts, reads, pings, holdMs } = input
  const pieces = [...cuts, bytes.length].map((end, index) => bytes.subarray(index === 0 ? 0 : cuts[index - 1], end))
  return new Promise((resolve) => {
    let timer: NodeJS.Timeout | undefined
    const hold = () => {
      clearTimeout(timer)
      timer = setTimeout(() => {
        resolve({ end: "held", code: received.code() })
        socket.destroy()
      }, holdMs)
    }
    const received = frameReader(hold)
    const sendNext = () => {
      const piece = pieces.shift()
      if (piece !== undefined) socket.write(piece, (error) => error ?? setImmediate(sendNext))
      else if (reads && pings) {
        // The server answers it after it has read everything before it.
        socket.write(ping)
        timer = setTimeout(hold, readingMs)
      } else hold()
    }
    const socket = connect(ports[input.transport], "127.0.0.1", sendNext)
    if (reads) socket.on("data", received.read)
    socket.on("error", () => {})
    socket.on("close", () => {
      clearTimeout(timer)
      resolve({ end: "ended", code: received.code() })
    })
  })
}

/** HTTP/2 error codes (RFC 9113, section 7). */
const codes = [
  "NO_ERROR",
  "PROTOCOL_ERROR",
  "INTERNAL_ERROR",
  "FLOW_CONTROL_ERROR",
  "SETTINGS_TIMEOUT",
  "STREAM_CLOSED",
  "FRAME_SIZE_ERROR",
  "REFUSED_STREAM",
  "CANCEL",
  "COMPRESSION_ERROR",
  "CONNECT_ERROR",
  "ENHANCE_YOUR_CALM",
]

/**
 * Reads the server's frames. `code` returns the last code other than NO_ERROR of the frames that end a stream or the
 * connection.
 *
 * @param onPong Called for each answer to the ping.
 */
function frameReader(onPong: () => void) {
  let left: Buffer = Buffer.alloc(0)
  let last: number | undefined
  return {
    read(chunk: Buffer): void {
      left = left.length === 0 ? chunk : Buffer.concat([left, chunk])
      while (left.length >= 9 && left.length >= 9 + left.readUIntBE(0, 3)) {
        const end = 9 + left.readUIntBE(0, 3)
        const frame = left.subarray(0, end)
        if (frame.equals(pong)) onPong()
        last = codeOf(frame) || last
        left = left.subarray(end)
      }
    },
    code: () => (last === undefined ? undefined : (codes[last] ?? String(last))),
  }
}

function codeOf(frame: Buffer): number | undefined {
  if (frame[3] === types.rstStream) return frame.readUInt32BE(9)
  return frame[3] === types.goAway ? frame.readUInt32BE(13) : undefined
}
