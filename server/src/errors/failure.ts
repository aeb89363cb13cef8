import type { ErrorReason } from "@authwire/proto"
import type { BadRequest_FieldViolation } from "@authwire/proto/rpc/error_details"
import type { Any } from "@bufbuild/protobuf/wkt"
import { Code } from "@connectrpc/connect"
import { StoreError, type StoreErrorReason } from "./store-error.js"

/** The name of an ErrorReason value, as google.rpc.ErrorInfo contains it. */
export type Reason = Exclude<keyof typeof ErrorReason, "UNSPECIFIED">

/** One violated rule: the path of the field in the request (`extra`, `update_mask`), and the text of the rule. */
export type FieldViolation = Pick<BadRequest_FieldViolation, "field" | "description">

// The only place that assigns status codes and default messages to reasons.
const statuses: Record<Reason, readonly [code: Code, message: string]> = {
  INVALID_FIELD: [Code.InvalidArgument, "the request breaks a rule of the schema"],
  USER_NOT_FOUND: [Code.NotFound, "no such user"],
  USER_ALREADY_EXISTS: [Code.AlreadyExists, "another user has this id"],
  EMAIL_ALREADY_EXISTS: [Code.AlreadyExists, "another user has this e-mail address"],
  ACCOUNT_NOT_FOUND: [Code.NotFound, "the account is not linked to any user"],
  ACCOUNT_LINKED_TO_ANOTHER_USER: [Code.AlreadyExists, "the account is linked to another user"],
  SESSION_NOT_FOUND: [Code.NotFound, "no such session, or it has expired"],
  SESSION_ALREADY_EXISTS: [Code.AlreadyExists, "a session has this token"],
  TENANT_ALREADY_EXISTS: [Code.AlreadyExists, "a tenant has this name"],
  SESSION_LIMIT_REACHED: [Code.FailedPrecondition, "the user has as many sessions as the session policy allows"],
  VERIFICATION_TOKEN_NOT_FOUND: [Code.NotFound, "no such verification token, or it was used"],
  VERIFICATION_TOKEN_ALREADY_EXISTS: [Code.AlreadyExists, "the identifier has this verification token already"],
  AUTHENTICATOR_NOT_FOUND: [Code.NotFound, "no such authenticator"],
  AUTHENTICATOR_ALREADY_EXISTS: [Code.AlreadyExists, "an authenticator has this credential id"],
  COUNTER_REGRESSION: [Code.FailedPrecondition, "the counter is lower than the stored one"],
  IDEMPOTENCY_KEY_REUSED: [Code.FailedPrecondition, "the idempotency key was used for another request"],
  CONFLICT: [Code.Aborted, "the write conflicted with other writes; nothing was written"],
  STALE_ETAG: [Code.Aborted, "the etag of the request is not the current one; nothing was written"],
  DATABASE_UNAVAILABLE: [Code.Unavailable, "the database cannot be reached"],
  STATEMENT_TIMEOUT: [Code.DeadlineExceeded, "a database statement exceeded its timeout"],
  QUEUE_FULL: [Code.ResourceExhausted, "too many calls wait for the database"],
  DEADLINE_EXCEEDED: [Code.DeadlineExceeded, "the deadline of the call has passed"],
  CANCELLED: [Code.Canceled, "the caller cancelled the call"],
  SHUTTING_DOWN: [Code.Unavailable, "the service is shutting down"],
  INTERNAL: [Code.Internal, "internal error"],
  SERVICE_UNKNOWN: [Code.NotFound, "no such service"],
  MISSING_SECRET: [Code.FailedPrecondition, "neither the request nor the service has a secret"],
  TOKEN_MALFORMED: [Code.Unauthenticated, "this is not a token"],
  TOKEN_ALGORITHM_NOT_ALLOWED: [Code.Unauthenticated, "the token's algorithm is not one that Auth.js uses"],
  NO_MATCHING_SECRET: [Code.Unauthenticated, "no secret decrypts the token with this salt"],
  TOKEN_EXPIRED: [Code.Unauthenticated, "the token has expired"],
  TOKEN_NOT_YET_VALID: [Code.Unauthenticated, "the token is not valid yet"],
  METHOD_UNKNOWN: [Code.Unimplemented, "the service has no unary method of this name"],
  TOO_MANY_CALLS: [Code.ResourceExhausted, "too many calls of this pipeline are active"],
  ANSWERS_NOT_TAKEN: [Code.ResourceExhausted, "the client does not read the responses of earlier calls"],
  API_KEY_MISSING: [Code.Unauthenticated, "the call has no API key: send it as authorization: Bearer awk_…"],
  API_KEY_INVALID: [Code.Unauthenticated, "the API key is unknown, revoked or expired"],
  SCOPE_MISSING: [Code.PermissionDenied, "the API key lacks the scope of this method"],
  RATE_LIMITED: [Code.ResourceExhausted, "the API key has reached the rate limit of this method"],
  OVERLOADED: [Code.ResourceExhausted, "the service has more active calls than it can answer soon"],
  AUDIT_LOG_UNAVAILABLE: [Code.Unavailable, "the service cannot write its audit log, so it rejects writes"],
  REFRESH_TOKEN_MISSING: [
    Code.FailedPrecondition,
    "the account has no access token that stays valid long enough, and no refresh token",
  ],
  PROVIDER_NOT_CONFIGURED: [Code.FailedPrecondition, "the service does not know the provider's token endpoint"],
  REFRESH_REFUSED: [
    Code.FailedPrecondition,
    "the provider has rejected the refresh token: the user must sign in again",
  ],
  CLIENT_REFUSED: [Code.FailedPrecondition, "the provider rejects the service as a client, or its request"],
  PROVIDER_UNAVAILABLE: [Code.Unavailable, "the provider cannot be reached or gives no usable response"],
  CURSOR_EXPIRED: [Code.OutOfRange, "events after the cursor have been deleted, or the cursor is of another database"],
  EVENTS_NOT_KEPT: [Code.FailedPrecondition, "the service is configured to keep no events"],
  USER_DISABLED: [Code.FailedPrecondition, "the user is disabled"],
  CACHES_NOT_CONFIRMED: [
    Code.DeadlineExceeded,
    "the call has done its work, but not every client has confirmed the change in time",
  ],
  SIGNAL_REFUSED: [Code.InvalidArgument, "the token is not a valid one of the provider for this client"],
  ENCRYPTION_KEY_MISSING: [Code.FailedPrecondition, "the service cannot decrypt the stored data with its keys"],
}

/**
 * An error with a reason. Its message is that of the reason, or contains rules of the schema. The only part of a
 * request in it is the path of an invalid value, and only as far as the names in the path are property names (see
 * rpc/json.ts).
 */
export class Failure extends Error {
  override readonly name = "Failure"
  readonly reason: Reason
  /** The status code. That of the reason, or another one if the request breaks a rule of its protocol, such as gRPC. */
  readonly code: Code
  readonly violations: readonly FieldViolation[]
  /** Further metadata of the ErrorInfo. It contains nothing of a request. */
  readonly metadata: Readonly<Record<string, string>>
  /** The delay after which the caller may retry, in milliseconds; undefined if the error suggests no retry. */
  readonly retryAfterMs: number | undefined
  /** Replaces the details of the status. Only set by services of tests (see AnswerMetadata in rpc/call.ts). */
  readonly details: readonly Any[] | undefined

  constructor(
    reason: Reason,
    options: {
      cause?: unknown
      violations?: readonly FieldViolation[]
      metadata?: Readonly<Record<string, string>>
      retryAfterMs?: number
      /** Replaces the default message. */
      message?: string
      /** Replaces the code of the reason. */
      code?: Code
      /** See the property. */
      details?: readonly Any[]
    } = {},
  ) {
    const violations = options.violations ?? []
    const detail = violations.map(({ field, description }) => `${field}: ${description}`).join("; ")
    super(options.message ?? (detail === "" ? statuses[reason][1] : detail), { cause: options.cause })
    this.metadata = options.metadata ?? {}
    this.retryAfterMs = options.retryAfterMs
    this.details = options.details
    this.reason = reason
    this.code = options.code ?? statuses[reason][0]
    this.violations = violations
  }
}

/** Creates the failure of a request in which this field breaks a rule. */
export function invalidField(field: string, description: string, cause?: unknown): Failure {
  return new Failure("INVALID_FIELD", { cause, violations: [{ field, description }] })
}

/** Converts a thrown value to a Failure. One without a reason becomes INTERNAL, with the value as cause for the log. */
export function toFailure(error: unknown): Failure {
  if (error instanceof Failure) return error
  if (error instanceof StoreError && error.reason === "TENANT_NOT_FOUND")
    return new Failure("API_KEY_INVALID", { cause: error, message: `${error.message}, so the API key is invalid` })
  if (error instanceof StoreError && isReason(error.reason)) {
    const violations = error.field === undefined ? [] : [{ field: error.field, description: error.message }]
    return new Failure(error.reason, { cause: error.cause ?? error, violations })
  }
  return new Failure("INTERNAL", { cause: error })
}

/** The store's reasons that are not in the schema: a caller gets another one. */
type CommandReason = "TENANT_NOT_FOUND" | "API_KEY_ALREADY_EXISTS"

function isReason(reason: StoreErrorReason): reason is Exclude<StoreErrorReason, CommandReason> {
  return reason in statuses
}

/** Returns the status code of a reason. */
export function codeOf(reason: Reason): Code {
  return statuses[reason][0]
}
