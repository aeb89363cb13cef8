import type { Writable } from "node:stream"
import { prefix } from "./requests.ts"

/** A gRPC message, or the body of a Connect call, that is sent except for its last byte. */
export interface PartialMessage {
  /** The number of its bytes that were written to the connection. */
  readonly takenBytes: number
  /** Whether everything but the last byte was sent. */
  readonly isAlmostWhole: boolean
  /** Stops sending. */
  stop(): void
}

/** The largest message that the service accepts by default, in bytes. */
const largestMessage = 4 * 1024 * 1024

// Shared by all messages, so that they cost the client no memory. A length-delimited field of zeros is not a valid
// message, which the service may detect only when the message is complete.
const chunk = Buffer.alloc(16 * 1024)

/** Sends such a message as fast as the service reads it. */
export function sendAllButTheLastByte(
  body: Writable,
  { bytes = largestMessage, isEnveloped = true }: { bytes?: number; isEnveloped?: boolean } = {},
): PartialMessage {
  let left = bytes - 1
  let takenBytes = 0
  let stopped = false
  const send = () => {
    if (stopped || left === 0 || body.destroyed) return
    const next = chunk.subarray(0, Math.min(left, chunk.length))
    left -= next.length
    body.write(next, (error) => {
      if (error) return
      takenBytes += next.length
      send()
    })
  }
  if (isEnveloped) body.write(prefix(bytes))
  send()
  return {
    get takenBytes() {
      return takenBytes
    },
    get isAlmostWhole() {
      return takenBytes === bytes - 1
    },
    stop() {
      stopped = true
    },
  }
}
