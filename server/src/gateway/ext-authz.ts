import {
  type AttributeContext_HttpRequest,
  type CheckRequest,
  type CheckResponseSchema,
  HeaderValueOption_HeaderAppendAction,
} from "@authwire/proto/envoy"
import type { MessageInitShape } from "@bufbuild/protobuf"
import { Code } from "@connectrpc/connect"
import { invalidField } from "../errors/failure.js"
import type { Decision, GatewayRequest } from "./decision.js"
import type { Settings } from "./policy.js"

type CheckResponse = MessageInitShape<typeof CheckResponseSchema>

/** Extracts the request to decide on, and the settings of the proxy. */
export function fromCheckRequest({ attributes }: CheckRequest): { request: GatewayRequest; settings: Settings } {
  const http = attributes?.request?.http
  if (http === undefined) {
    throw invalidField("attributes.request.http", "is missing: only HTTP requests can be authorized")
  }
  const headers = headersOf(http)
  const forwarded = headers.get("x-forwarded-proto")
  const request: GatewayRequest = {
    method: http.method,
    // The scheme that the client used. Envoy sets or checks this header; `http.scheme` is only that of Envoy itself.
    scheme: forwarded === "http" || forwarded === "https" ? forwarded : http.scheme,
    host: http.host,
    path: http.path,
    header: (name) => headers.get(name),
    headerNames: headers.keys(),
  }
  return { request, settings: attributes?.contextExtensions ?? {} }
}

function headersOf({ headers, headerMap }: AttributeContext_HttpRequest): ReadonlyMap<string, string> {
  const all = new Map<string, string>()
  const add = (key: string, text: string) => {
    const name = key.toLowerCase()
    const before = all.get(name)
    // Joined as in RFC 9113, section 8.2.3, and RFC 9110, section 5.3.
    all.set(name, before === undefined ? text : `${before}${name === "cookie" ? "; " : ", "}${text}`)
  }
  for (const [key, value] of Object.entries(headers)) add(key, value)
  for (const { key, value, rawValue } of headerMap?.headers ?? []) {
    add(key, rawValue.length === 0 ? value : Buffer.from(rawValue).toString("latin1"))
  }
  return all
}

/** Converts a decision to the response for the proxy. */
export function toCheckResponse(decision: Decision): CheckResponse {
  if (decision.kind === "allowed") {
    const { headers, removed } = decision
    const value = { headers: headers.map(overwrite), headersToRemove: [...removed] }
    return { status: { code: 0 }, httpResponse: { case: "okResponse", value } }
  }
  const { status, reason } = decision
  const headers: [string, string][] = [
    // A cache must not serve it to another user.
    ["cache-control", "no-store"],
    ["content-type", "text/plain; charset=utf-8"],
  ]
  if (status === 302) headers.push(["location", decision.location])
  // RFC 9110, section 15.5.2, requires a scheme. Browsers do not ask for a password for this one.
  if (status === 401) headers.push(["www-authenticate", "Bearer"])
  return {
    status: { code: status === 403 ? Code.PermissionDenied : Code.Unauthenticated, message: reason },
    httpResponse: {
      case: "deniedResponse",
      value: { status: { code: status }, headers: headers.map(overwrite), body: `${reason}\n` },
    },
  }
}

function overwrite([key, value]: readonly [string, string]) {
  const appendAction = HeaderValueOption_HeaderAppendAction.OVERWRITE_IF_EXISTS_OR_ADD
  return { header: { key, value }, appendAction }
}
