import { quotesValues, withheld } from "../../../../errors/quoted-values.js"
import { type Failure, StatementError } from "../../query/statement-error.js"

// https://www.postgresql.org/docs/current/errcodes-appendix.html
export const failures = new Map<string, Failure>([
  ["23505", "duplicate"], // unique_violation
  ["23503", "no-parent"], // foreign_key_violation
  ["23502", "no-parent"], // not_null_violation: the user or the tenant is being deleted (see schema/present-users.ts)

  ["40001", "conflict"], // serialization_failure
  ["40P01", "conflict"], // deadlock_detected

  ["55P03", "locked"], // lock_not_available: NOWAIT, and lock_timeout

  ["25006", "read-only"], // read_only_sql_transaction: as after a failover

  ["53100", "full"], // disk_full

  ["57014", "timeout"], // query_canceled: statement_timeout

  // The connection's knowledge of the tables is outdated or lost. A new connection has no such state.
  ["0A000", "unavailable"], // feature_not_supported: the type of a prepared statement's result has changed
  ["26000", "unavailable"], // invalid_sql_statement_name: a pooler has forgotten a prepared statement

  ["25P03", "unavailable"], // idle_in_transaction_session_timeout
  ["3D000", "unavailable"], // invalid_catalog_name: no such database
  ["42501", "unavailable"], // insufficient_privilege
  ["57P01", "unavailable"], // admin_shutdown
  ["57P02", "unavailable"], // crash_shutdown
  ["57P03", "unavailable"], // cannot_connect_now
  ["57P04", "unavailable"], // database_dropped
  ["57P05", "unavailable"], // idle_session_timeout
  ["58030", "unavailable"], // io_error
])

/** The failures of classes whose codes all mean the same here. */
export const classes = new Map<string, Failure>([
  ["08", "unavailable"], // connection exception
  ["28", "unavailable"], // invalid authorization: user, password
  ["53", "unavailable"], // insufficient resources: too many connections, out of memory
])

/** An error of pg. Errors of the server have a severity, and their code is the SQLSTATE. */
interface DriverError extends Error {
  code?: string
  severity?: string
}

/** Classifies an error of pg. */
export function statementError(error: unknown): StatementError {
  if (error instanceof StatementError) return error
  const { message, code, severity } = error as DriverError
  if (severity !== undefined && code !== undefined) {
    const failure = failures.get(code) ?? classes.get(code.slice(0, 2)) ?? "fault"
    return new StatementError(failure, quotesValues({ code }) ? withheld : message, code)
  }
  // Errors of a connection have a system code or none.
  const isFault = error instanceof TypeError || error instanceof RangeError
  return new StatementError(isFault ? "fault" : "unavailable", message, code)
}
