/** How calls are sent. */
export type Way = "pipeline" | "unary" | "connect"

export const ways: readonly Way[] = ["pipeline", "unary", "connect"]

/** What became of the calls of a way. */
export interface Sent {
  offered: number
  /** Those that the transport took: the others were held back by the service not reading. */
  sent: number
  ok: number
  overloaded: number
  other: number
  /** Milliseconds from sending to the answer. */
  okP50: number
  okP99: number
  rejectedP50: number
  rejectedP99: number
}
