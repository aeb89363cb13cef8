import { StoreError } from "../../../errors/store-error.js"

/**
 * The kinds of statement failures. They are recognized by error numbers and codes, never by message text.
 *
 * - `duplicate`: a key exists already.
 * - `no-parent`: a row refers to one that does not exist, or is being deleted.
 * - `unmatched`: a row does not exist or has changed since it was read.
 * - `conflict`: a conflict with another transaction. Nothing was done, so the work can be retried.
 * - `locked`: another transaction holds a lock. Nothing was done, so the work can be retried.
 * - `moved`: this member of a cluster can no longer do it, but another one may. Nothing was done, so the work can be
 *   retried.
 * - `read-only`: the database does not accept writes.
 * - `full`: there is no space for it. Nothing was done.
 * - `unavailable`: the database cannot be reached. Nothing was done, because no transaction was being committed.
 * - `unanswered`: the connection was lost while a transaction was being committed, or a statement that is committed by
 *   itself was running. It is unknown whether that was done, so only work that may be done twice can be retried.
 * - `timeout`: the statement took too long.
 * - `fault`: anything else, which is a bug of this program or of the schema.
 */
export type Failure =
  | "duplicate"
  | "no-parent"
  | "unmatched"
  | "conflict"
  | "locked"
  | "moved"
  | "read-only"
  | "full"
  | "unavailable"
  | "unanswered"
  | "timeout"
  | "fault"

/** The only type of error that an engine throws. Its message contains no value of a parameter or a row. */
export class StatementError extends Error {
  override readonly name = "StatementError"
  readonly failure: Failure
  /** The code of the driver or the server, such as `ER_LOCK_DEADLOCK`. */
  readonly code: string | undefined

  constructor(failure: Failure, message: string, code?: string) {
    super(message)
    this.failure = failure
    this.code = code
  }
}

export function failsBy(error: unknown, failure: Failure): error is StatementError {
  return error instanceof StatementError && error.failure === failure
}

/** Converts failures that every method may throw to a StoreError. Returns any other error as it is. */
export function storeError(error: unknown): unknown {
  if (failsBy(error, "conflict") || failsBy(error, "locked")) {
    return new StoreError("CONFLICT", "the write conflicted with other writes", { cause: error })
  }
  if (failsBy(error, "read-only")) {
    return new StoreError("DATABASE_UNAVAILABLE", `the database accepts no writes: ${error.message}`, { cause: error })
  }
  if (failsBy(error, "full")) {
    return new StoreError("DATABASE_UNAVAILABLE", `the disk of the database is full: ${error.message}`, {
      cause: error,
    })
  }
  if (failsBy(error, "unavailable") || failsBy(error, "unanswered") || failsBy(error, "moved")) {
    return new StoreError("DATABASE_UNAVAILABLE", "the database cannot be reached", { cause: error })
  }
  if (failsBy(error, "timeout")) {
    return new StoreError("STATEMENT_TIMEOUT", "a statement exceeded its timeout", { cause: error })
  }
  return error
}
