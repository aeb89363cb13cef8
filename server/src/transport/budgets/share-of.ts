import type { EventEmitter } from "node:events"
import type { Failure } from "../../errors/failure.js"
import type { Method } from "../../rpc/router.js"
import type { Connection } from "../connection.js"
import { limits } from "../limits.js"
import type { OpenMethods } from "./open-methods.js"
import { Share } from "./share.js"

export interface ShareOfOptions {
  method: Method
  connection: Connection
  openMethods: OpenMethods
  /** The longest duration of a unary call, in milliseconds. */
  maxDeadlineMs: number
  /** Aborts the request at once. */
  cut: () => void
}

/**
 * Creates the share of a request, and the rejection of the call if it exceeds the limits of methods that require no
 * key.
 *
 * @param closing The HTTP/2 stream or the HTTP/1.1 response. The share ends when it closes.
 */
export function shareOf(
  closing: EventEmitter,
  { method, connection, openMethods, maxDeadlineMs, cut }: ShareOfOptions,
): { share: Share; rejection: Failure | undefined } {
  const { isOpen, desc } = method
  const lifetimeMs = desc.methodKind === "unary" ? maxDeadlineMs + limits.closeMs : undefined
  const share = new Share({ connection, isOpen, lifetimeMs, cut })
  if (!isOpen) {
    closing.once("close", () => share.end())
    return { share, rejection: undefined }
  }
  const stream = { cut }
  closing.once("close", () => {
    share.end()
    openMethods.leave(desc, connection, stream)
  })
  return { share, rejection: openMethods.enter(desc, connection, stream) }
}
