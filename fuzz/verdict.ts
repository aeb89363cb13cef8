import { ErrorReason } from "@authwire/proto"
import { ErrorInfoSchema } from "@authwire/proto/rpc/error_details"
import { type Status, StatusSchema } from "@authwire/proto/rpc/status"
import { fromBinary } from "@bufbuild/protobuf"
import { anyUnpack } from "@bufbuild/protobuf/wkt"
import { canary } from "./generate/messages.ts"
import type { Answer, Outcome, Verdict } from "./outcome.ts"

/** An error in any of the protocols. */
interface WireError {
  code: string
  message: string
  reason: string | undefined
}

const codes =
  "OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS UNAUTHENTICATED".split(
    " ",
  )

// Errors of the libraries for requests that they reject before there is a call. These have no reason.
const rejections: readonly RegExp[] = [
  /^RESOURCE_EXHAUSTED /,
  /^UNIMPLEMENTED /,
  /^DEADLINE_EXCEEDED /,
  /^INVALID_ARGUMENT /,
  /^INTERNAL Invalid grpc-timeout value/,
  // A wrong content type, for which Connect has no other code.
  /^UNKNOWN \w+ is a (unary|streaming) method: its content-type must be one of /,
  // Flags of a message, which gRPC wants to be INTERNAL.
  /^INTERNAL a message has a flag, /,
  /^CANCELLED /,
]

/**
 * Judges an outcome. The service may answer with a result, a known reason or an HTTP rejection, or close the
 * connection.
 */
export function judge(outcome: Outcome): Verdict {
  if (outcome.end === "hung") return { label: "hung", finding: "no answer came" }
  if (outcome.end === "held" || outcome.end === "ended")
    return { label: `connection ${outcome.end}${outcome.code === undefined ? "" : `, ${outcome.code}`}` }
  if (outcome.end !== "answered") return { label: outcome.end }
  try {
    const error = errorOf(outcome)
    if (error === undefined) return judgeStatus(outcome.status)
    return judgeError(error)
  } catch (error) {
    return {
      label: "unreadable",
      finding: `the answer cannot be read: ${error instanceof Error ? error.message : error}`,
    }
  }
}

/** Judges the error of a call in a pipeline in the same way. */
export function judgeError({ code, message, reason }: WireError): Verdict {
  if (code === "OK") return { label: "OK" }
  if (message.includes(canary)) return { label: "leak", finding: `an error quotes the request: ${code} ${message}` }
  if (reason === undefined) {
    const allowed = rejections.some((rejection) => rejection.test(`${code} ${message}`))
    return { label: `${code} (no reason)`, ...(allowed ? {} : { finding: `${code} without a reason: ${message}` }) }
  }
  if (reason === "INTERNAL") return { label: reason, finding: "an internal error" }
  if (!(reason in ErrorReason)) return { label: reason, finding: `no reason is called ${reason}` }
  return { label: reason }
}

/** Converts a google.rpc.Status to an error. */
export function wireError(status: Status): WireError {
  const info = status.details.map((detail) => anyUnpack(detail, ErrorInfoSchema)).find((found) => found !== undefined)
  return { code: codes[status.code] ?? String(status.code), message: status.message, reason: info?.reason }
}

// Accepts the HTTP status codes of rejections: a bad request, an unsupported one, one that is too large or has timed
// out. A gateway's decision may also be a redirect to the sign-in page.
function judgeStatus(status: number): Verdict {
  if (status === 200) return { label: "OK" }
  const plain = (status >= 400 && status < 500) || [100, 302, 501, 504, 505].includes(status)
  return { label: `http ${status}`, ...(plain ? {} : { finding: `HTTP status ${status}` }) }
}

function errorOf({ status, headers, trailers, body }: Answer): WireError | undefined {
  const type = headers["content-type"] ?? ""
  if (type.startsWith("application/grpc-web")) {
    const end = envelopes(body).find(({ flags }) => (flags & 0x80) !== 0)
    const fields = end === undefined ? headers : readHeaders(end.content)
    return grpcError(fields)
  }
  if (type.startsWith("application/grpc")) return grpcError({ ...headers, ...trailers })
  if (type.startsWith("application/connect+") && status === 200) {
    const end = envelopes(body).find(({ flags }) => (flags & 2) !== 0)
    if (end === undefined) return undefined
    const { error } = JSON.parse(end.content.toString())
    return error && connectError(error)
  }
  if (type.startsWith("application/json") && status >= 400) return connectError(JSON.parse(body.toString()))
  return undefined
}

function grpcError(fields: Record<string, string>): WireError | undefined {
  const code = fields["grpc-status"]
  if (code === undefined) return undefined
  const bytes = fields["grpc-status-details-bin"]
  const message = decodeURIComponent(fields["grpc-message"] ?? "")
  if (bytes === undefined) return { code: codes[Number(code)] ?? code, message, reason: undefined }
  return wireError(fromBinary(StatusSchema, Buffer.from(bytes, "base64")))
}

function connectError(json: {
  code?: string
  message?: string
  details?: { type: string; value: string }[]
}): WireError {
  const info = json.details?.find(({ type }) => type === ErrorInfoSchema.typeName)
  const code = (json.code ?? "unknown").toUpperCase().replace("CANCELED", "CANCELLED")
  const reason = info && fromBinary(ErrorInfoSchema, Buffer.from(info.value, "base64")).reason
  return { code, message: json.message ?? "", reason }
}

/** Returns the messages of a body, each with its flags. */
export function envelopes(body: Buffer): { flags: number; content: Buffer }[] {
  const found: { flags: number; content: Buffer }[] = []
  for (let at = 0; at + 5 <= body.length; ) {
    const end = at + 5 + body.readUInt32BE(at + 1)
    if (end > body.length) break
    found.push({ flags: body[at] as number, content: body.subarray(at + 5, end) })
    at = end
  }
  return found
}

function readHeaders(bytes: Buffer): Record<string, string> {
  const lines = bytes.toString().split("\r\n")
  return Object.fromEntries(
    lines.map((line) => [line.split(":", 1)[0]?.toLowerCase(), line.slice(line.indexOf(":") + 1).trim()]),
  )
}
