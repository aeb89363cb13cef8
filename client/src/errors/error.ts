import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "@authwire/proto/rpc/error_details"
import { durationMs } from "@bufbuild/protobuf/wkt"
import { Code, ConnectError } from "@connectrpc/connect"
import { tlsHeading } from "./tls-error.js"

/** The names of the gRPC status codes, indexed by number. */
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
  /**
   * The name of the field: that of the adapter contract (`emailVerified`) if the client found the violation, or that of
   * the protobuf schema if the service did.
   */
  readonly field: string
  /** The rule, without the rejected value. */
  readonly description: string
}

/** The domain of the service's errors in google.rpc.ErrorInfo. */
const domain = "authwire"

/** The length at which an error message that does not come from the service is cut, in characters. */
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
 * The error of a failed call, of the adapter or of a typed client, or of an invalid option. Its fields are plain and enumerable, so that structured
 * loggers keep them. Neither the fields nor the message contain a value of the request, a token, a key or an e-mail
 * address.
 */
export class AuthwireError extends Error {
  override readonly name = "AuthwireError"
  /** The name of the gRPC status code. */
  readonly code: StatusName
  /**
   * The name of the method that failed: of the adapter (`"getUserByEmail"`), or of a typed client (`"users.getUser"`). Undefined if an
   * option is invalid.
   */
  readonly method: string | undefined
  /**
   * The reason that the service reports: the name of an ErrorReason value without its prefix. INVALID_FIELD if the
   * client itself rejects a request. Undefined for other errors that do not come from the service.
   */
  readonly reason: string | undefined
  /** Additional details of the reason from the service (ErrorInfo.metadata). Empty by default. */
  readonly metadata: Readonly<Record<string, string>>
  /** The rules that the request or its options violate, with the code INVALID_ARGUMENT. Empty by default. */
  readonly fieldViolations: readonly FieldViolation[]
  /**
   * The delay after which the call may be retried, in milliseconds from its rejection by the service, with the reasons
   * RATE_LIMITED and OVERLOADED. Undefined if the service gives no delay.
   */
  readonly retryAfterMs: number | undefined

  /** Recognizes the class by its name, because a process may load several copies of this package. */
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

  /** Returns the error without its stack and cause. */
  toJSON() {
    const { name, message, code, method, reason, metadata, fieldViolations, retryAfterMs } = this
    return { name, message, code, method, reason, metadata, fieldViolations, retryAfterMs }
  }
}

/** Creates the error of a request value that violates a rule, in the form that the service's errors have. */
export function invalid(field: string, rule: string, message = `${field} ${rule}`): ConnectError {
  return new ConnectError(message, Code.InvalidArgument, undefined, [
    { desc: ErrorInfoSchema, value: { domain, reason: "INVALID_FIELD" } },
    { desc: BadRequestSchema, value: { fieldViolations: [{ field, description: rule }] } },
  ])
}

/** Creates the error of a call that cannot be made because an option is missing or empty. */
export function missingOption(option: string): ConnectError {
  const description = "is required, and was missing or empty when the client was created"
  return invalid(option, description, `the option ${option} ${description}`)
}

/** Creates the error of a response that violates the schema. */
export function malformed(what: string): ConnectError {
  return new ConnectError(`the service answered ${what}`, Code.Internal)
}

/** Returns whether the service itself reported NOT_FOUND with this reason. A NOT_FOUND of a proxy does not count. */
export function isNotFound(error: unknown, reason: string): boolean {
  return error instanceof ConnectError && error.code === Code.NotFound && errorInfo(error)?.reason === reason
}

/** Creates the error of an option that violates a rule. */
export function wrongOption(option: string, rule: string, cause?: unknown): AuthwireError {
  return new AuthwireError({
    code: "INVALID_ARGUMENT",
    detail: `the option ${option} ${rule}`,
    fieldViolations: [{ field: option, description: rule }],
    cause,
  })
}

/** Messages for rejected API keys. They name the option `apiKey` instead of the header. */
const keyAdvice: Readonly<Record<string, string>> = {
  API_KEY_MISSING: "the service requires an API key: set the option apiKey",
  API_KEY_INVALID: "the service rejects the API key of the option apiKey: it is unknown, revoked or expired",
}

/**
 * Creates the error that a method throws for a failed call.
 *
 * @param method - The name of the method.
 * @param address - The address of the service, for the message.
 * @param cause - The error that the transport or a conversion threw.
 */
export function callError(method: string, address: string, cause: unknown): AuthwireError {
  if (!(cause instanceof ConnectError)) {
    // The error does not come from the transport but from a getter or `toJSON` of the caller's object, or from a bug in
    // this package. Its message may contain any value, so it is not copied.
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

/** Returns the retry delay that the service sent, in milliseconds. A delay from a proxy is ignored. */
export function retryAfterMs(error: ConnectError): number | undefined {
  if (errorInfo(error) === undefined) return undefined
  const [info] = error.findDetails(RetryInfoSchema)
  return info?.retryDelay && durationMs(info.retryDelay)
}

/** Returns whether the service itself reported the error, not a proxy or the client. */
export function isFromService(error: ConnectError): boolean {
  return errorInfo(error) !== undefined
}

function errorInfo(error: ConnectError) {
  return error.findDetails(ErrorInfoSchema).find((info) => info.domain === domain)
}

/** Returns the name of a status code. */
export function statusName(code: Code): StatusName {
  // A custom transport may use any number.
  return statusNames[code] ?? "UNKNOWN"
}

/** Returns the message of an error that came from the network, a proxy or the client itself. */
function foreignDetail(error: ConnectError, address: string): string {
  // grpc-js appends the heading "Resolution note:" even if the note is empty.
  const detail = error.rawMessage.slice(0, maxDetailLength).replace(/\.?( Resolution note: ?)?\.?$/, "")
  switch (error.code) {
    case Code.Unavailable:
      return `cannot reach Authwire at ${address}: ${detail}.${detail.startsWith(tlsHeading) ? "" : " Is it running?"}`
    case Code.DeadlineExceeded:
      return `no answer from Authwire at ${address} within timeoutMs: ${detail}`
    case Code.Unimplemented:
      return `${detail}. Is it Authwire that listens at ${address}?`
    default:
      return detail
  }
}
