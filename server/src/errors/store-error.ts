/**
 * The reasons of store errors. The names are those of ErrorReason in the schema, as far as callers can get them: only
 * the command-line tool manages tenants and keys.
 */
export type StoreErrorReason =
  | "USER_NOT_FOUND"
  | "USER_DISABLED"
  | "USER_ALREADY_EXISTS"
  | "EMAIL_ALREADY_EXISTS"
  | "ACCOUNT_LINKED_TO_ANOTHER_USER"
  | "SESSION_ALREADY_EXISTS"
  | "SESSION_LIMIT_REACHED"
  | "VERIFICATION_TOKEN_ALREADY_EXISTS"
  | "AUTHENTICATOR_ALREADY_EXISTS"
  | "COUNTER_REGRESSION"
  | "IDEMPOTENCY_KEY_REUSED"
  | "TENANT_NOT_FOUND"
  | "TENANT_ALREADY_EXISTS"
  | "API_KEY_ALREADY_EXISTS"
  | "ENCRYPTION_KEY_MISSING"
  | "INVALID_FIELD"
  | "STALE_ETAG"
  | "CONFLICT"
  | "DATABASE_UNAVAILABLE"
  | "STATEMENT_TIMEOUT"
  | "QUEUE_FULL"

/**
 * The error that a store throws for every named reason. Any other error that escapes from a store is a bug of the
 * store. The message may reach the caller, so it contains no value of a request or a row.
 */
export class StoreError extends Error {
  override readonly name = "StoreError"
  readonly reason: StoreErrorReason
  /** The contract name of the field that breaks a rule. Only with INVALID_FIELD. */
  readonly field: string | undefined

  constructor(reason: StoreErrorReason, message: string, options: { cause?: unknown; field?: string } = {}) {
    super(message, { cause: options.cause })
    this.reason = reason
    this.field = options.field
  }
}
