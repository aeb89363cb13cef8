/**
 * Why the store rejected or failed; the names are those of ErrorReason in the schema, as far as callers can meet them:
 * tenants and keys are made by the command only.
 */
export type StoreErrorReason =
  | "USER_NOT_FOUND"
  | "USER_ALREADY_EXISTS"
  | "EMAIL_ALREADY_EXISTS"
  | "ACCOUNT_LINKED_TO_ANOTHER_USER"
  | "SESSION_ALREADY_EXISTS"
  | "VERIFICATION_TOKEN_ALREADY_EXISTS"
  | "AUTHENTICATOR_ALREADY_EXISTS"
  | "COUNTER_REGRESSION"
  | "IDEMPOTENCY_KEY_REUSED"
  | "TENANT_NOT_FOUND"
  | "TENANT_ALREADY_EXISTS"
  | "API_KEY_ALREADY_EXISTS"
  | "ENCRYPTION_KEY_MISSING"
  | "INVALID_FIELD"
  | "CONFLICT"
  | "DATABASE_UNAVAILABLE"
  | "STATEMENT_TIMEOUT"
  | "QUEUE_FULL"

/**
 * What a store throws for everything that has a name. Anything else that escapes from a store is a fault of the store.
 * The message may reach the caller: it holds no value of a request or a row.
 */
export class StoreError extends Error {
  override readonly name = "StoreError"
  readonly reason: StoreErrorReason
  /** With INVALID_FIELD: the field that breaks a rule, by its contract name. */
  readonly field: string | undefined

  constructor(reason: StoreErrorReason, message: string, options: { cause?: unknown; field?: string } = {}) {
    super(message, { cause: options.cause })
    this.reason = reason
    this.field = options.field
  }
}
