import { quotesValues, withheld } from "../../../../errors/quoted-values.js"
import { type Failure, StatementError } from "../../query/statement-error.js"

export const failures = new Map<number, Failure>([
  [1062, "duplicate"], // ER_DUP_ENTRY
  [1452, "no-parent"], // ER_NO_REFERENCED_ROW_2
  [1451, "no-parent"], // ER_ROW_IS_REFERENCED_2: a deletion would leave rows without it
  [1048, "no-parent"], // ER_BAD_NULL_ERROR: the user or the tenant is being deleted (see schema/present-users.ts)

  [1213, "conflict"], // ER_LOCK_DEADLOCK, and of Galera: the cluster certified another write first
  [3101, "conflict"], // ER_TRANSACTION_ROLLBACK_DURING_COMMIT: the group certified another write first
  [1180, "conflict"], // ER_ERROR_DURING_COMMIT: the same, as older members and MariaDB's clusters say it
  [1020, "conflict"], // ER_CHECKREAD: MariaDB's snapshot isolation

  [1205, "locked"], // ER_LOCK_WAIT_TIMEOUT, and NOWAIT of MariaDB
  [3572, "locked"], // ER_LOCK_NOWAIT of MySQL

  [1047, "read-only"], // ER_UNKNOWN_COM_ERROR, of Galera: the node is not in the primary component, or not ready yet
  [1290, "read-only"], // ER_OPTION_PREVENTS_STATEMENT: as after a failover
  [1792, "read-only"], // ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION
  [1836, "read-only"], // ER_READ_ONLY_MODE
  [1874, "read-only"], // ER_INNODB_READ_ONLY
  [1881, "read-only"], // ER_INNODB_FORCED_RECOVERY

  [1021, "full"], // ER_DISK_FULL
  [1114, "full"], // ER_RECORD_FILE_FULL

  [3024, "timeout"], // ER_QUERY_TIMEOUT of MySQL
  [1969, "timeout"], // ER_STATEMENT_TIMEOUT of MariaDB

  [1040, "unavailable"], // ER_CON_COUNT_ERROR
  [1041, "unavailable"], // ER_OUT_OF_RESOURCES
  [1044, "unavailable"], // ER_DBACCESS_DENIED_ERROR
  [1045, "unavailable"], // ER_ACCESS_DENIED_ERROR
  [1049, "unavailable"], // ER_BAD_DB_ERROR
  [1053, "unavailable"], // ER_SERVER_SHUTDOWN
  [1079, "unavailable"], // ER_SHUTDOWN_COMPLETE
  [1129, "unavailable"], // ER_HOST_IS_BLOCKED
  [1130, "unavailable"], // ER_HOST_NOT_PRIVILEGED
  [1142, "unavailable"], // ER_TABLEACCESS_DENIED_ERROR
  [1152, "unavailable"], // ER_ABORTING_CONNECTION
  [1184, "unavailable"], // ER_NEW_ABORTING_CONNECTION
  [1203, "unavailable"], // ER_TOO_MANY_USER_CONNECTIONS
  [1226, "unavailable"], // ER_USER_LIMIT_REACHED
  [1317, "unavailable"], // ER_QUERY_INTERRUPTED: the query was killed
  // A new connection has no prepared statements, and the end of the old one releases its own.
  [1461, "unavailable"], // ER_MAX_PREPARED_STMT_COUNT_REACHED
  [1927, "unavailable"], // ER_CONNECTION_KILLED of MariaDB
  // What a client of MySQL has met, of Vitess: a vttablet cannot reach its server.
  [2002, "unavailable"], // CR_CONNECTION_ERROR
  [2003, "unavailable"], // CR_CONN_HOST_ERROR
  [2006, "unavailable"], // CR_SERVER_GONE_ERROR
  [2013, "unavailable"], // CR_SERVER_LOST
  [3032, "unavailable"], // ER_SERVER_OFFLINE_MODE
  // It is unknown whether the group has the transaction, because its message may have reached the other members.
  [3100, "unavailable"], // ER_RUN_HOOK_ERROR: the member left its group during the commit
  [3168, "unavailable"], // ER_SERVER_ISNT_AVAILABLE: vtgate or a vttablet shuts down
  [3118, "unavailable"], // ER_ACCOUNT_HAS_BEEN_LOCKED
  [3796, "unavailable"], // ER_GRP_TRX_CONSISTENCY_NOT_ALLOWED: the member is not in its group
  [3797, "unavailable"], // ER_GRP_TRX_CONSISTENCY_BEFORE: the member cannot catch up with its group
  [3799, "unavailable"], // ER_GRP_TRX_CONSISTENCY_BEGIN_NOT_ALLOWED: the member is leaving its group
  [4031, "unavailable"], // ER_CLIENT_INTERACTION_TIMEOUT
])

/**
 * An error of mysql2. Errors of the server have an `sqlState`; errors of the connection are `fatal` or have a `code`.
 */
interface DriverError {
  message: string
  code?: string
  errno?: number
  sqlState?: string
  fatal?: boolean
}

/** Classifies an error of mysql2. */
export function statementError(error: unknown): StatementError {
  if (error instanceof StatementError) return error
  const { message, code, errno, sqlState, fatal } = error as DriverError
  if (sqlState) {
    const said = withoutStatement(message)
    const known = errno === undefined ? undefined : (failureOfVitess(errno, said) ?? failures.get(errno))
    const failure = known ?? (fatal ? "unavailable" : "fault")
    // The driver has no names for the numbers of MariaDB alone.
    return new StatementError(failure, quotesValues({ errno, sqlState }) ? withheld : said, code ?? String(errno))
  }
  const failure = fatal || code !== undefined ? "unavailable" : "fault"
  return new StatementError(failure, message, code)
}

/** A vttablet adds the caller, the statement and its values to the message of its server. */
function withoutStatement(message: string): string {
  return message.replace(/( \(CallerID: |: Sql: ").*$/s, "")
}

/**
 * Classifies an error for which Vitess has no number of MySQL's: 1105, or 1317 if a statement was ended. Its own codes are those of
 * gRPC, which the message of a vttablet begins with; 17 is a change in the cluster. Its messages with numbers have such a code in their
 * first two digits: 14 is Unavailable. What else fails for a shard, its target, has reached no vttablet.
 */
function failureOfVitess(errno: number, message: string): Failure | undefined {
  if (errno !== 1105 && errno !== 1317) return undefined
  const [, code] = /\bcode = (\S+) desc = /.exec(message) ?? []
  if (code === "DeadlineExceeded") return "timeout"
  if (errno === 1317) return undefined
  if (code !== undefined) return /^(Unavailable|FailedPrecondition|Code\(17\))$/.test(code) ? "unavailable" : undefined
  return /^(VT15\d+: .*)?target: |\bVT14\d+: /s.test(message) ? "unavailable" : undefined
}
