import {
  codeToHttpStatus,
  endStreamFlag,
  endStreamToJson,
  errorToJsonBytes,
} from "@connectrpc/connect/protocol-connect"
import { trailerFlag, trailerSerialize } from "@connectrpc/connect/protocol-grpc-web"
import type { Failure } from "../../errors/failure.js"
import { connectErrorOf, statusOf } from "../../errors/status.js"
import { trailersOf } from "../grpc/answer.js"
import type { RequestUsage } from "../limits/request-usage.js"
import { acceptedEncoding } from "../listener/content-type.js"
import { withPrefix } from "../listener/prefix.js"
import { endAtOnce, type NodeResponse } from "./answer.js"

/** The answer to a call that is rejected before its request is read. */
export interface Rejection {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

const nothing = new Uint8Array()

/**
 * Returns the answer to a rejected call in the protocol of its content type, with the fields and bytes of Connect's handler.
 * That handler is not used, because it costs several times as much, and any client can cause rejections. In gRPC the status is
 * sent in the header, as at the gRPC listener.
 *
 * @param type One of `typesOverHttp`.
 */
export function rejectionOf(type: string, failure: Failure, requestId: string): Rejection {
  const [name, value] = acceptedEncoding(type)
  if (type.startsWith("application/grpc")) {
    const headers = { [name]: value, "content-type": /\+(proto|json)$/.test(type) ? type : `${type}+proto` }
    const trailers = trailersOf(statusOf(failure, requestId))
    return type.startsWith("application/grpc-web")
      ? { status: 200, headers, body: withPrefix(trailerFlag, trailerSerialize(new Headers(trailers))) }
      : { status: 200, headers: { ...headers, ...trailers }, body: nothing }
  }
  const error = connectErrorOf(failure, requestId)
  if (type.startsWith("application/connect+")) {
    const end = JSON.stringify(endStreamToJson(new Headers(), error, undefined))
    const headers = { [name]: value, "content-type": type }
    return { status: 200, headers, body: withPrefix(endStreamFlag, Buffer.from(end)) }
  }
  const headers = { [name]: value, "content-type": "application/json" }
  return { status: codeToHttpStatus(error.code), headers, body: errorToJsonBytes(error, undefined) }
}

export function writeRejection(
  response: NodeResponse,
  usage: RequestUsage,
  { status, headers, body }: Rejection,
): void {
  usage.rejected(body.length)
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
  endAtOnce(response, status, body)
}
