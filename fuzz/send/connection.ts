import { connect } from "node:net"
import { types } from "../generate/http2-frames.ts"
import type { ConnectionInput } from "../inputs.ts"
import type { Outcome } from "../outcome.ts"
import type { Ports } from "../server-process.ts"

/** Sends bytes on a connection of their own, piece by piece, and keeps it open for a while. */
export function sendConnection(input: ConnectionInput, ports: Ports): Promise<Outcome> {
  const { bytes, cuts, reads, holdMs } = input
  const pieces = [...cuts, bytes.length].map((end, index) => bytes.subarray(index === 0 ? 0 : cuts[index - 1], end))
  return new Promise((resolve) => {
    const received = frameReader()
    let hold: NodeJS.Timeout | undefined
    const sendNext = () => {
      const piece = pieces.shift()
      if (piece === undefined) {
        hold = setTimeout(() => {
          resolve({ end: "held", code: received.code() })
          socket.destroy()
        }, holdMs)
      } else socket.write(piece, (error) => error ?? setImmediate(sendNext))
    }
    const socket = connect(ports[input.door], "127.0.0.1", sendNext)
    if (reads) socket.on("data", received.read)
    socket.on("error", () => {})
    socket.on("close", () => {
      clearTimeout(hold)
      resolve({ end: "ended", code: received.code() })
    })
  })
}

/** Error codes of HTTP/2 (RFC 9113, section 7). */
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

/** Finds the last code, other than that there is no error, of the frames that end a stream or the connection. */
function frameReader() {
  let left: Buffer = Buffer.alloc(0)
  let last: number | undefined
  return {
    read(chunk: Buffer): void {
      left = left.length === 0 ? chunk : Buffer.concat([left, chunk])
      while (left.length >= 9 && left.length >= 9 + left.readUIntBE(0, 3)) {
        const end = 9 + left.readUIntBE(0, 3)
        const code = codeOf(left.subarray(0, end))
        if (code) last = code
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
