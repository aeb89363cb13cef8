import type { Writable } from "node:stream"
import { prefix } from "./requests.ts"

/** A message of gRPC, or the body of a call by Connect, that is sent up to its last byte. */
export interface PartialMessage {
  /** Bytes of it that the service has taken. */
  readonly takenBytes: number
  /** Whether all but the last byte is sent. */
  readonly isAlmostWhole: boolean
  /** Sends no more of it. */
  stop(): void
}

/** The largest message that the service takes by default. */
const largestMessage = 4 * 1024 * 1024

// One for all, so that the messages cost this side no memory. A length-delimited field of zeros is no message, which
// the service may find out only once it is whole.
const chunk = Buffer.alloc(16 * 1024)

/** Sends such a message, as fast as the service takes it. */
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
