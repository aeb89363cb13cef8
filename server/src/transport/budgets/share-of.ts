import type { EventEmitter } from "node:events"
import type { Failure } from "../../rpc/errors.js"
import type { Method } from "../../rpc/router.js"
import type { Connection } from "../connection.js"
import { limits } from "../limits.js"
import type { OpenMethods } from "./open-methods.js"
import { Share } from "./share.js"

export interface ShareOfOptions {
  method: Method
  connection: Connection
  openMethods: OpenMethods
  /** The longest that a unary call may take, in milliseconds. */
  maxDeadlineMs: number
  /** Ends the request at once. */
  cut: () => void
}

/**
 * The share of a request, which ends when `closing` does: a stream of HTTP/2, or the response of HTTP/1.1. With the reason
 * why the call is rejected for it, if it is.
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
  const place = { cut }
  closing.once("close", () => {
    share.end()
    openMethods.leave(desc, connection, place)
  })
  return { share, rejection: openMethods.enter(desc, connection, place) }
}
