import { connect } from "node:net"
import { flags, http2Frame, types } from "../generate/http2-frames.ts"
import type { ConnectionInput } from "../inputs.ts"
import type { Outcome } from "../outcome.ts"
import type { Ports } from "../server-process.ts"

/** How long the server may take to read what was sent, in milliseconds, before the connection is held all the same. */
const readingMs = 5_000
/** A ping that no generator makes, and its answer. */
const ping = http2Frame(types.ping, 0, 0, Buffer.from("the end!"))
const pong = http2Frame(types.ping, flags.ack, 0, Buffer.from("the end!"))

/** Sends bytes on a connection of their own, piece by piece, and keeps it open for a while once the server has read them. */
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
        // Answered once all before it was read.
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

/**
 * Finds the last code, other than that there is no error, of the frames that end a stream or the connection.
 *
 * @param onPong - told of each answer to our ping
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
