import {
  type CheckRequest,
  CheckRequestSchema,
  type CheckResponse,
  type HeaderValueOption,
} from "@authwire/proto/envoy"
import { create, type MessageInitShape } from "@bufbuild/protobuf"
import { Code, ConnectError } from "@connectrpc/connect"
import { errorToJsonBytes } from "@connectrpc/connect/protocol-connect"
import { Failure } from "../../errors/failure.js"
import { settingsField } from "../../gateway/policy.js"

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
 * Reads a request to `authorizePath`. Its query holds the settings, and optionally `redirect=header`. The checked
 * request has the headers of this one. Its method, path, host and scheme come from headers that the proxy adds: those
 * that nginx is configured to send, or the `x-forwarded-…` headers of other proxies.
 *
 * @returns INVALID_FIELD for a duplicate setting or an unknown value of `redirect`.
 */
export function readAuthorizeRequest(url: string, headers: Headers): AuthorizeRequest | Failure {
  const contextExtensions: Record<string, string> = {}
  for (const [name, value] of new URL(url, "http://unused").searchParams) {
    if (Object.hasOwn(contextExtensions, name)) return wrong("contains a setting twice")
    contextExtensions[name] = value
  }
  const { redirect } = contextExtensions
  if (redirect !== undefined && redirect !== "header") return wrong("redirect must be header, or absent")
  delete contextExtensions.redirect
  const firstHeader = (...names: string[]) =>
    names.map((name) => firstOf(headers[name])).find((one) => one !== undefined) ?? ""
  const http: MessageInitShape<typeof CheckRequestSchema> = {
    attributes: {
      contextExtensions,
      request: {
        http: {
          method: firstHeader("x-original-method", "x-forwarded-method") || "GET",
          path: firstHeader("x-original-uri", "x-forwarded-uri"),
          host: firstHeader("x-original-host", "x-forwarded-host"),
          scheme: firstHeader("x-forwarded-proto"),
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
  return { request: create(CheckRequestSchema, http), redirectsByHeader: redirect !== undefined }
}

function wrong(description: string): Failure {
  return new Failure("INVALID_FIELD", { violations: [{ field: settingsField, description }] })
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
export function failedAnswer(thrown: unknown): AuthorizeAnswer {
  const error = thrown instanceof ConnectError ? thrown : new ConnectError("internal error", Code.Internal)
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

function firstOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}
