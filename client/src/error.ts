import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "@authwire/proto/rpc/error_details"
import { durationMs } from "@bufbuild/protobuf/wkt"
import { Code, ConnectError } from "@connectrpc/connect"
import { tlsHeading } from "./transport/tls-error.js"

/** The names of the gRPC status codes, at their numbers. */
export const statusNames = [
  "OK",
  "CANCELLED",
  "UNKNOWN",
  "INVALID_ARGUMENT",
  "DEADLINE_EXCEEDED",
  "NOT_FOUND",
  "ALREADY_EXISTS",
  "PERMISSION_DENIED",
  "RESOURCE_EXHAUSTED",
  "FAILED_PRECONDITION",
  "ABORTED",
  "OUT_OF_RANGE",
  "UNIMPLEMENTED",
  "INTERNAL",
  "UNAVAILABLE",
  "DATA_LOSS",
  "UNAUTHENTICATED",
] as const

/** The name of a gRPC status code that is an error: `"NOT_FOUND"`, `"UNAVAILABLE"`, … */
export type StatusName = Exclude<(typeof statusNames)[number], "OK">

/** A rule that a field of a request breaks. */
export interface FieldViolation {
  /** The field: the contract's name where the client found it (`emailVerified`), the wire's where the service did. */
  readonly field: string
  /** The rule, without the value that breaks it. */
  readonly description: string
}

/** The domain of the service's errors in google.rpc.ErrorInfo. */
const domain = "authwire"

/** What a foreign server or proxy says about a failure is cut to this many characters. */
const maxDetailLength = 500

interface ErrorFields {
  code: StatusName
  detail: string
  method?: string | undefined
  reason?: string | undefined
  metadata?: Readonly<Record<string, string>>
  fieldViolations?: readonly FieldViolation[]
  retryAfterMs?: number | undefined
  cause?: unknown
}

/**
 * Why an adapter method failed, or which option is wrong. Its fields are enumerable and plain, so that it survives
 * structured logging; neither they nor the message hold a value of the request, a token, a key or an e-mail address.
 */
export class AuthwireError extends Error {
  override readonly name = "AuthwireError"
  /** The name of the gRPC status code. */
  readonly code: StatusName
  /** The adapter method that failed: `"getUserByEmail"`. Undefined if an option is wrong. */
  readonly method: string | undefined
  /** The service's reason: the name of a value of ErrorReason, without its prefix. Undefined if it was not the service. */
  readonly reason: string | undefined
  /** What the service says beside the reason. Empty by default. */
  readonly metadata: Readonly<Record<string, string>>
  /** The rules that fields of the request break, with the code INVALID_ARGUMENT. Empty by default. */
  readonly fieldViolations: readonly FieldViolation[]
  /**
   * When the call is welcome again, in milliseconds from when the service rejected it, with the reasons RATE_LIMITED and
   * OVERLOADED. Undefined if the service does not say.
   */
  readonly retryAfterMs: number | undefined

  /** By its name: a process may have several copies of this package, whose errors are the same. */
  static override [Symbol.hasInstance](value: unknown): value is AuthwireError {
    return value instanceof Error && value.name === "AuthwireError" && "code" in value && typeof value.code === "string"
  }

  constructor({ code, detail, method, reason, metadata, fieldViolations, retryAfterMs, cause }: ErrorFields) {
    super([method, code, detail].filter(Boolean).join(": "), cause === undefined ? undefined : { cause })
    this.code = code
    this.method = method
    this.reason = reason
    this.metadata = metadata ?? {}
    this.fieldViolations = fieldViolations ?? []
    this.retryAfterMs = retryAfterMs
  }

  /** The error without its stack and cause. */
  toJSON() {
    const { name, message, code, method, reason, metadata, fieldViolations, retryAfterMs } = this
    return { name, message, code, method, reason, metadata, fieldViolations, retryAfterMs }
  }
}

/**
 * Says that a value given to the client breaks a rule, in the shape in which the service says it, so that both reach
 * the caller alike.
 */
export function invalid(field: string, rule: string): ConnectError {
  return new ConnectError(`${field} ${rule}`, Code.InvalidArgument, undefined, [
    { desc: ErrorInfoSchema, value: { domain, reason: "INVALID_FIELD" } },
    { desc: BadRequestSchema, value: { fieldViolations: [{ field, description: rule }] } },
  ])
}

/** Says at a call that an option is not there without which none can be made. */
export function missingOption(option: string): ConnectError {
  const description = "is required, and was missing or empty when the client was made"
  return new ConnectError(`the option ${option} ${description}`, Code.InvalidArgument, undefined, [
    { desc: ErrorInfoSchema, value: { domain, reason: "INVALID_FIELD" } },
    { desc: BadRequestSchema, value: { fieldViolations: [{ field: option, description }] } },
  ])
}

/** Says that an answer of the service breaks the schema. */
export function malformed(what: string): ConnectError {
  return new ConnectError(`the service answered ${what}`, Code.Internal)
}

/** Whether the service itself, and not something on the way to it, said NOT_FOUND with this reason. */
export function isNotFound(error: unknown, reason: string): boolean {
  return error instanceof ConnectError && error.code === Code.NotFound && errorInfo(error)?.reason === reason
}

/** The error of an option that breaks a rule. */
export function wrongOption(option: string, rule: string, cause?: unknown): AuthwireError {
  return new AuthwireError({
    code: "INVALID_ARGUMENT",
    detail: `the option ${option} ${rule}`,
    fieldViolations: [{ field: option, description: rule }],
    cause,
  })
}

/** What the service says of a header is said of the option that makes it. */
const keyAdvice: Readonly<Record<string, string>> = {
  API_KEY_MISSING: "the service wants an API key: set the option apiKey",
  API_KEY_INVALID: "the option apiKey is no valid API key of the service: unknown, revoked or expired",
}

/**
 * What an adapter method throws for a failed call.
 *
 * @param method - Name of the adapter method.
 * @param address - Where the service is, for the message.
 * @param cause - What the transport or a conversion threw.
 */
export function callError(method: string, address: string, cause: unknown): AuthwireError {
  if (!(cause instanceof ConnectError)) {
    // Not from the wire, so it may say anything: a getter or `toJSON` of the caller's object, or a fault of ours.
    return new AuthwireError({ code: "UNKNOWN", detail: "the call failed in the client, see the cause", method, cause })
  }
  const info = errorInfo(cause)
  return new AuthwireError({
    code: statusName(cause.code),
    detail: info ? (keyAdvice[info.reason] ?? cause.rawMessage) : foreignDetail(cause, address),
    method,
    reason: info?.reason,
    metadata: { ...info?.metadata },
    fieldViolations: cause
      .findDetails(BadRequestSchema)
      .flatMap((request) => request.fieldViolations.map(({ field, description }) => ({ field, description }))),
    retryAfterMs: retryAfterMs(cause),
    cause,
  })
}

/** When the service itself, and not something on the way to it, says that the call is welcome again, in milliseconds. */
export function retryAfterMs(error: ConnectError): number | undefined {
  if (errorInfo(error) === undefined) return undefined
  const [info] = error.findDetails(RetryInfoSchema)
  return info?.retryDelay && durationMs(info.retryDelay)
}

function errorInfo(error: ConnectError) {
  return error.findDetails(ErrorInfoSchema).find((info) => info.domain === domain)
}

function statusName(code: Code): StatusName {
  // A transport that the caller brought may give any number.
  return statusNames[code] ?? "UNKNOWN"
}

/** The message of an error that did not come from the service: of the network, of a proxy, of the client itself. */
function foreignDetail(error: ConnectError, address: string): string {
  // grpc-js leaves the heading of a note behind that is mostly empty.
  const said = error.rawMessage.slice(0, maxDetailLength).replace(/\.?( Resolution note: ?)?\.?$/, "")
  switch (error.code) {
    case Code.Unavailable:
      return `cannot reach Authwire at ${address}: ${said}.${said.startsWith(tlsHeading) ? "" : " Is it running?"}`
    case Code.DeadlineExceeded:
      return `no answer from Authwire at ${address} within timeoutMs: ${said}`
    case Code.Unimplemented:
      return `${said}. Is it Authwire that listens at ${address}?`
    default:
      return said
  }
}
