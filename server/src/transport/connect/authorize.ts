import {
  type CheckRequest,
  CheckRequestSchema,
  type CheckResponse,
  type HeaderValueOption,
} from "@authwire/proto/envoy"
import { create, type MessageInitShape } from "@bufbuild/protobuf"
import { Code, ConnectError } from "@connectrpc/connect"
import { errorToJsonBytes } from "@connectrpc/connect/protocol-connect"
import { Failure } from "../../rpc/errors.js"

/** Where proxies ask that do not speak gRPC. */
export const authorizePath = "/v1/authorize"

/** Headers of one request, by lower-case name. */
type Headers = Readonly<Record<string, string | string[] | undefined>>

/** What the proxy is answered. */
export interface AuthorizeAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** What the proxy's own headers stand for in a call of gRPC. None of the others is the proxy's: they came from its client. */
export function proxyHeader(headers: Headers, name: string): string | undefined {
  if (name === "authorization") {
    const key = firstOf(headers["x-api-key"])
    return key === undefined ? undefined : `Bearer ${key}`
  }
  return name === "x-request-id" ? firstOf(headers[name]) : undefined
}

/** A request to `authorizePath`. */
export interface Asked {
  /** The call of Authorization.Check that it stands for. */
  readonly request: CheckRequest
  /** Whether 401 and a header stand for a redirect: auth_request of nginx knows no other answers than 401 and 403. */
  readonly redirectsByHeader: boolean
}

/**
 * Reads a request to `authorizePath`. Its query has the settings, and `redirect=header` beside them. What it is about has the
 * headers of this one, and what proxies tell of it beside them: nginx as it is configured to, others in `x-forwarded-…`.
 *
 * @returns INVALID_FIELD for a setting that is there twice, and for another value of `redirect`
 */
export function readAsked(url: string, headers: Headers): Asked | Failure {
  const contextExtensions: Record<string, string> = {}
  for (const [name, value] of new URL(url, "http://unused").searchParams) {
    if (Object.hasOwn(contextExtensions, name)) return wrong("holds a setting twice")
    contextExtensions[name] = value
  }
  const { redirect } = contextExtensions
  if (redirect !== undefined && redirect !== "header") return wrong("redirect must be header, or absent")
  delete contextExtensions.redirect
  const told = (...names: string[]) =>
    names.map((name) => firstOf(headers[name])).find((one) => one !== undefined) ?? ""
  const http: MessageInitShape<typeof CheckRequestSchema> = {
    attributes: {
      contextExtensions,
      request: {
        http: {
          method: told("x-original-method", "x-forwarded-method") || "GET",
          path: told("x-original-uri", "x-forwarded-uri"),
          host: told("x-original-host", "x-forwarded-host"),
          scheme: told("x-forwarded-proto"),
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
  return new Failure("INVALID_FIELD", { violations: [{ field: "attributes.context_extensions", description }] })
}

/** The answer that a decision is. What the application is told stands in its headers. */
export function toAnswer({ httpResponse }: CheckResponse, { redirectsByHeader }: Asked): AuthorizeAnswer {
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
      throw new Error("a decision that is none")
  }
}

/**
 * The answer where there is no decision: the error as Connect tells it. Never 401 or 403, by which a proxy would send everybody
 * to the sign-in page: 503 where it may be better in a moment, 500 where the proxy, or the service, is configured wrongly.
 */
export function failedAnswer(thrown: unknown): AuthorizeAnswer {
  const error = thrown instanceof ConnectError ? thrown : new ConnectError("internal error", Code.Internal)
  return {
    status: passing.has(error.code) ? 503 : 500,
    headers: { "content-type": "application/json" },
    body: Buffer.from(errorToJsonBytes(error, undefined)).toString(),
  }
}

const passing = new Set([Code.Unavailable, Code.ResourceExhausted, Code.DeadlineExceeded, Code.Aborted, Code.Canceled])

function plain(headers: readonly HeaderValueOption[]): Record<string, string> {
  return Object.fromEntries(headers.flatMap(({ header }) => (header === undefined ? [] : [[header.key, header.value]])))
}

function firstOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}
