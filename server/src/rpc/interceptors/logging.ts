import type { DescMethod } from "@bufbuild/protobuf"
import { status } from "@grpc/grpc-js"
import type { Logger } from "pino"
import type { Call } from "../call.js"
import { codeOf, type Failure, toFailure, toStatus } from "../errors.js"
import type { Observer } from "../interceptor.js"
import type { Rejections } from "../rejection-log.js"

/**
 * Writes one log line per call (method, code, key, duration, request id; never contents) and converts each thrown value
 * to the status that the caller gets. Calls that are rejected because there are too many, and most calls that no key
 * limits, are only counted. An unexpected error is in the log with its stack, and not in the status.
 *
 * @param endedOf returns, for a method, the function that is called when a call's line is written or the call is
 *   counted: with the duration in milliseconds, and the end of the call by `clock`
 */
export function logging(
  log: Logger,
  clock: () => number,
  rejections: Rejections,
  endedOf: (method: DescMethod) => (call: Call, failure: Failure | undefined, ms: number, end: number) => void,
): Observer {
  return {
    of: (method) => {
      const name = nameOf(method)
      const ended = endedOf(method)
      const record = (call: Call, start: number, end: number, failure: Failure | undefined): void => {
        ended(call, failure, end - start, end)
        const hasIdentity = call.identity !== undefined
        if (rejections.count(method, call.transport, failure?.reason ?? "OK", hasIdentity)) return
        const entry = {
          method: name,
          transport: call.transport,
          code: failure === undefined ? "OK" : status[codeOf(failure.reason)],
          reason: failure?.reason,
          key: call.identity?.keyId,
          tenant: call.identity?.tenant,
          duration_ms: Math.round((end - start) * 1000) / 1000,
          request_id: call.requestId,
          trace_id: call.traceId,
        }
        if (failure?.reason === "INTERNAL" || failure?.reason === "ENCRYPTION_KEY_MISSING")
          log.error({ ...entry, err: failure.cause }, "call failed")
        else if (failure?.reason === "DATABASE_UNAVAILABLE") log.warn({ ...entry, err: failure.cause }, "call failed")
        else log.info(entry, "call")
      }
      // The response is sent first, so that no caller waits for the log.
      return {
        begun: clock,
        answered: (call, begun) => void setImmediate(record, call, begun, clock(), undefined),
        failed(call, begun, thrown) {
          const failure = toFailure(thrown)
          setImmediate(record, call, begun, clock(), failure)
          return toStatus(failure, call.requestId)
        },
      }
    },
    rejected: (method, transport, requestId, code) => {
      log.info({ method: nameOf(method), transport, code: status[code], request_id: requestId }, "call rejected")
    },
  }
}

/** Returns a name such as `authwire.v1.UserService/GetUser`. */
function nameOf({ parent, name }: DescMethod): string {
  return `${parent.typeName}/${name}`
}
