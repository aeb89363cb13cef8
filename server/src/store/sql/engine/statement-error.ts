import { StoreError } from "../../error.js"

/**
 * What went wrong with a statement, known by error numbers and codes, never by message text:
 * a duplicate key; a foreign key without its parent; a row that is not there, or not as it was read; a conflict with another transaction (nothing was done, try again);
 * a lock that another transaction holds (likewise); a member of a cluster that cannot do it any more where another one may
 * (likewise); a database that takes no writes; no database to speak of; out of time;
 * anything else, which is a fault of this program or of the schema.
 */
export type Failure =
  | "duplicate"
  | "no-parent"
  | "unmatched"
  | "conflict"
  | "locked"
  | "moved"
  | "read-only"
  | "unavailable"
  | "timeout"
  | "fault"

/** The one kind of error that an engine throws. Its message holds no value of a parameter or a row. */
export class StatementError extends Error {
  override readonly name = "StatementError"
  readonly failure: Failure
  /** The driver's or the server's code, such as `ER_LOCK_DEADLOCK`. */
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

/** The store's error for what every method may throw; everything else is returned as it is. */
export function storeError(error: unknown): unknown {
  if (failsBy(error, "conflict") || failsBy(error, "locked")) {
    return new StoreError("CONFLICT", "the write conflicted with others", { cause: error })
  }
  if (failsBy(error, "read-only")) {
    return new StoreError("DATABASE_UNAVAILABLE", `the database takes no writes: ${error.message}`, { cause: error })
  }
  if (failsBy(error, "unavailable") || failsBy(error, "moved")) {
    return new StoreError("DATABASE_UNAVAILABLE", "the database cannot be reached", { cause: error })
  }
  if (failsBy(error, "timeout")) {
    return new StoreError("STATEMENT_TIMEOUT", "a statement took too long", { cause: error })
  }
  return error
}
