import {
  type CheckRequest,
  CheckRequestSchema,
  type CheckResponse,
  type HeaderValueOption,
} from "@authwire/proto/envoy"
import { create, type MessageInitShape } from "@bufbuild/protobuf"
import { Code } from "@connectrpc/connect"
import { errorToJsonBytes } from "@connectrpc/connect/protocol-connect"
import type { Failure } from "../../errors/failure.js"
import { connectErrorOf } from "../../errors/status.js"
import { wrongSetting } from "../../gateway/policy.js"
import { queryOf } from "../../util/utf8.js"
import { firstOf } from "../listener/content-type.js"

/** The path for proxies that do not speak gRPC. */
export const authorizePath = "/v1/authorize"

/** Headers of one request, by lower-case name. */
type Headers = Readonly<Record<string, string | string[] | undefined>>

/** The answer to the proxy. */
export interface AuthorizeAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/**
 * Returns the value of a gRPC header, taken from a header of the proxy. Only these headers can be the proxy's own; the
 * rest come from its client. A proxy that does not set `x-api-key` forwards its client's, so a certificate of the proxy
 * takes precedence over it (`CallOptions.prefersCertificate`).
 */
export function proxyHeader(headers: Headers, name: string): string | undefined {
  if (name === "authorization") {
    const key = firstOf(headers["x-api-key"])
    return key === undefined ? undefined : `Bearer ${key}`
  }
  return name === "x-request-id" ? firstOf(headers[name]) : undefined
}

/** A request to `authorizePath`. */
export interface AuthorizeRequest {
  /** The request of Authorization.Check that it stands for. */
  readonly request: CheckRequest
  /** Whether a redirect is sent as 401 with a header, because nginx's auth_request accepts only 401 and 403. */
  readonly redirectsByHeader: boolean
}

/**
 * The kinds of proxies. `prefix` begins the names of the headers in which the proxy sends the method, the path and the
 * host of the request. Headers with another prefix are its client's. nginx cannot pass a redirect on, so it gets the
 * address in a header.
 */
const proxies = new Map([
  ["nginx", { prefix: "x-original-", redirectsByHeader: true }],
  ["traefik", { prefix: "x-forwarded-", redirectsByHeader: false }],
  ["caddy", { prefix: "x-forwarded-", redirectsByHeader: false }],
])
const proxyNames = [...proxies.keys()].join(", ")

/** The settings that depend on the method, the path or the host of the request. */
const settingsOfTarget = ["sign_in", "preflight"]

/**
 * Reads a request to `authorizePath`. Its query holds the settings, and in addition `proxy`, the kind of the proxy. The
 * checked request has the headers of this one. Its method, path, host and scheme come from headers that the proxy adds.
 *
 * @returns INVALID_FIELD for a duplicate setting, or a wrong or missing value of `proxy`.
 */
export function readAuthorizeRequest(url: string, headers: Headers): AuthorizeRequest | Failure {
  const settings = new Map<string, string>()
  const query = queryOf(new URL(url, "http://unused").search)
  if (query === undefined) return wrongSetting("must be encoded in UTF-8")
  for (const [name, value] of query) {
    if (settings.has(name)) return wrongSetting("contains a setting twice")
    settings.set(name, value)
  }
  const name = settings.get("proxy")
  const proxy = name === undefined ? undefined : proxies.get(name)
  if (name !== undefined && proxy === undefined) return wrongSetting(`proxy must be one of ${proxyNames}`)
  settings.delete("proxy")
  const needsTarget = settingsOfTarget.find((one) => settings.has(one))
  if (proxy === undefined && needsTarget !== undefined) {
    return wrongSetting(`${needsTarget} needs proxy, which must be one of ${proxyNames}`)
  }
  const sentByProxy = (part: string) => (proxy && firstOf(headers[proxy.prefix + part])) ?? ""
  const http: MessageInitShape<typeof CheckRequestSchema> = {
    attributes: {
      contextExtensions: Object.fromEntries(settings),
      request: {
        http: {
          method: sentByProxy("method") || "GET",
          path: sentByProxy("uri"),
          host: sentByProxy("host"),
          scheme: firstOf(headers["x-forwarded-proto"]) ?? "",
          headers: Object.fromEntries(
            Object.entries(headers).flatMap(([name, value]) => {
              if (value === undefined || name.startsWith(":") || name === "x-api-key") return []
              return [[name, Array.isArray(value) ? value.join(name === "cookie" ? "; " : ", ") : value]]
            }),
          ),
        },
      },
    },
  }
  return { request: create(CheckRequestSchema, http), redirectsByHeader: proxy?.redirectsByHeader ?? false }
}

/** Converts a decision into the answer to the proxy. Its headers carry the information for the application. */
export function toAnswer({ httpResponse }: CheckResponse, { redirectsByHeader }: AuthorizeRequest): AuthorizeAnswer {
  switch (httpResponse.case) {
    case "okResponse":
      return { status: 200, headers: plain(httpResponse.value.headers), body: "" }
    case "deniedResponse": {
      const { headers, body } = httpResponse.value
      const status = httpResponse.value.status?.code ?? 403
      const { location, ...others } = plain(headers)
      if (location === undefined) return { status, headers: others, body }
      if (!redirectsByHeader) return { status, headers: { ...others, location }, body }
      return { status: 401, headers: { ...others, "www-authenticate": "Bearer", "x-auth-location": location }, body }
    }
    default:
      throw new Error("the decision is of an unknown kind")
  }
}

/**
 * Returns the answer if there is no decision: the error as Connect formats it. It is never 401 or 403, because a proxy
 * would then send every user to the sign-in page. It is 503 if a retry may succeed soon, and 500 if the proxy or the
 * service is misconfigured.
 */
export function failedAnswer(failure: Failure, requestId: string): AuthorizeAnswer {
  const error = connectErrorOf(failure, requestId)
  return {
    status: retryable.has(error.code) ? 503 : 500,
    headers: { "content-type": "application/json" },
    body: Buffer.from(errorToJsonBytes(error, undefined)).toString(),
  }
}

const retryable = new Set([
  Code.Unavailable,
  Code.ResourceExhausted,
  Code.DeadlineExceeded,
  Code.Aborted,
  Code.Canceled,
])

function plain(headers: readonly HeaderValueOption[]): Record<string, string> {
  return Object.fromEntries(headers.flatMap(({ header }) => (header === undefined ? [] : [[header.key, header.value]])))
}
