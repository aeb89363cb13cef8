import type { DescMethod } from "@bufbuild/protobuf"
import type { Logger } from "pino"
import { statusName } from "../../errors/status.js"
import { type CallEnded, fullName, type Observer } from "../interceptor.js"
import type { Rejections } from "../rejection.js"

/**
 * Writes one log line per call (method, code, key, duration, request id; never contents). Calls that are rejected because
 * there are too many, and most calls that no key limits, are only counted. An unexpected error is in the log with its stack, and not in the status.
 *
 * @param others Called once for each method. The functions that they return, if any, are called when a call's line is written or
 *   the call is counted.
 */
export function logging(
  log: Logger,
  clock: () => number,
  rejections: Rejections,
  others: readonly ((method: DescMethod) => CallEnded | undefined)[],
): Observer {
  return {
    clock,
    recorderOf: (method) => {
      const name = fullName(method)
      const ended = others.flatMap((recorderOf) => recorderOf(method) ?? [])
      const record: CallEnded = (call, failure, begun, end, ...messages) => {
        for (const one of ended) one(call, failure, begun, end, ...messages)
        const hasIdentity = call.identity !== undefined
        // A call of a key that succeeds has a line in any case.
        const mayBeCounted = failure !== undefined || !hasIdentity
        const outcome = failure?.reason ?? "OK"
        if (mayBeCounted && rejections.count(method, call.transport, outcome, hasIdentity)) return
        const entry = {
          method: name,
          transport: call.transport,
          code: failure === undefined ? "OK" : statusName(failure.code),
          reason: failure?.reason,
          key: call.identity?.keyId,
          tenant: call.identity?.tenant,
          duration_ms: Math.round((end - begun) * 1000) / 1000,
          request_id: call.requestId,
          trace_id: call.traceId,
        }
        if (failure?.reason === "INTERNAL" || failure?.reason === "ENCRYPTION_KEY_MISSING")
          log.error({ ...entry, err: failure.cause }, "call failed")
        else if (failure?.reason === "DATABASE_UNAVAILABLE") log.warn({ ...entry, err: failure.cause }, "call failed")
        else log.info(entry, "call")
      }
      // The response is sent first, so that no caller waits for the log.
      return (...call) => void setImmediate(record, ...call)
    },
    rejected: (method, transport, requestId, code) => {
      log.info({ method: fullName(method), transport, code: statusName(code), request_id: requestId }, "call rejected")
    },
  }
}
