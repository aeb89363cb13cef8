import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "@authwire/proto/rpc/error_details"
import { type Status, StatusSchema } from "@authwire/proto/rpc/status"
import { create, createRegistry, type DescMessage, type Message } from "@bufbuild/protobuf"
import { type Any, anyPack, durationFromMs } from "@bufbuild/protobuf/wkt"
import { Code, ConnectError } from "@connectrpc/connect"
import { codeOf, type Failure } from "./failure.js"

/** The messages in the details of a status, which are google.protobuf.Any. */
export const detailTypes = createRegistry(BadRequestSchema, ErrorInfoSchema, RetryInfoSchema)

/**
 * Returns the status of a failed call, as gRPC sends it: code, message, ErrorInfo and, if they apply, BadRequest and
 * RetryInfo. A request that breaks a rule of gRPC itself has no details, because the schema has no reason for it.
 */
export function statusOf(failure: Failure, requestId: string): Status {
  return create(StatusSchema, {
    code: failure.code,
    message: failure.message,
    details: failure.details?.slice() ?? detailsOf(failure, requestId).map(({ desc, value }) => anyPack(desc, value)),
  })
}

/** Returns the same as Connect's error. */
export function connectErrorOf(failure: Failure, requestId: string): ConnectError {
  const error = new ConnectError(failure.message, failure.code)
  error.details = failure.details?.map(toConnectDetail) ?? detailsOf(failure, requestId)
  return error
}

function toConnectDetail({ typeUrl, value }: Any): ConnectError["details"][number] {
  return { type: typeUrl.slice(typeUrl.lastIndexOf("/") + 1), value }
}

function detailsOf(
  { reason, code, metadata, violations, retryAfterMs }: Failure,
  requestId: string,
): { desc: DescMessage; value: Message }[] {
  if (code !== codeOf(reason)) return []
  const info = { reason, domain: "authwire", metadata: { ...metadata, request_id: requestId } }
  const details: ReturnType<typeof detailsOf> = [{ desc: ErrorInfoSchema, value: create(ErrorInfoSchema, info) }]
  if (violations.length > 0) {
    const value = create(BadRequestSchema, { fieldViolations: [...violations] })
    details.push({ desc: BadRequestSchema, value })
  }
  if (retryAfterMs !== undefined) {
    const retryDelay = durationFromMs(Math.ceil(retryAfterMs))
    details.push({ desc: RetryInfoSchema, value: create(RetryInfoSchema, { retryDelay }) })
  }
  return details
}

/** Returns the name of a gRPC status code, as it stands in logs, metrics and spans: `NOT_FOUND`. */
export function statusName(code: number): string {
  if (code === 0) return "OK"
  // gRPC has two L in it.
  if (code === Code.Canceled) return "CANCELLED"
  return (Code[code] ?? "Unknown").replace(/(?<=.)[A-Z]/g, "_$&").toUpperCase()
}
