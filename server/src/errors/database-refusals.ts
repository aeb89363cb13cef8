/** An error of a database, and what it means for the person who runs it. */
export interface Refusal {
  /** Matches the code and the message, with a space between them. */
  error: RegExp
  says: string
  /** What to do about it; missing if the message says that. */
  remedy?: string
}

const verified = (parameters: string, unverified: string) =>
  `add ${parameters} to --database-url, or ${unverified} to encrypt without checking which server it is`
const grant = "grant it: docs/deploying.md has the statements"
const fewer =
  "lower --database-pool-size (each process opens 2 more), or raise the limit of the server, the database or the user"
const again = "end it, or run the command again when it has ended"
const file = "is --database-url correct, and may this user write the file and its folder?"

/**
 * The errors whose meaning is known. The first match counts. The codes are names of MySQL's and MariaDB's errors, SQLSTATEs of
 * PostgreSQL, and codes of SQLite, of TLS, of the system and of drivers.
 */
export const refusals: readonly Refusal[] = [
  // Encryption
  {
    error: /^ER_SECURE_TRANSPORT_REQUIRED /,
    says: "the server accepts only encrypted connections",
    remedy: verified("ssl-mode=VERIFY_IDENTITY and ssl-ca=FILE", "ssl-mode=REQUIRED"),
  },
  {
    error: /^28000 .*no encryption/,
    says: "the server does not admit this user without encryption",
    remedy: `${verified("sslmode=verify-full and sslrootcert=FILE", "sslmode=require")}; if that is rejected too, pg_hba.conf has no entry for it`,
  },
  {
    error: /^HANDSHAKE_NO_SSL_SUPPORT |The server does not support SSL connections/,
    says: "the server offers no encryption",
    remedy: "turn on TLS there, or remove sslmode or ssl-mode from --database-url",
  },
  {
    error: /^(\S*(CERT|LEAF_SIGNATURE|HANDSHAKE_SSL|ERR_SSL_|ERR_TLS_)\S*|EPROTO) /,
    says: "no encrypted connection to this server can be made",
    remedy:
      "was its certificate issued by the authority of sslrootcert or ssl-ca, is it valid now, and does it name the host?",
  },

  // Users and passwords
  {
    error: /^ER_ACCESS_DENIED_(NO_PASSWORD_)?ERROR /,
    says: "the server rejects the user or the password",
    remedy:
      "correct them in --database-url, or in the file of the password; if the user or the server requires TLS, add ssl-mode=VERIFY_IDENTITY, or ssl-mode=REQUIRED",
  },
  {
    error: /^28P01 /,
    says: "the server rejects the user or the password",
    remedy: "correct them in --database-url, or in the file of the password",
  },
  {
    error: /client password must be/,
    says: "the server asks for a password, and none is given",
    remedy: "add it to --database-url, or use --database-password-file",
  },
  {
    error: /^28... /,
    says: "the server does not admit this user",
    remedy: "does the role exist, may it log in, and does pg_hba.conf have an entry for it from this host?",
  },
  {
    error: /^MYSQL_CLEAR_PASSWORD_NOT_ENABLED /,
    says: "this user's password is sent as it is",
    remedy: "add ssl-mode=VERIFY_IDENTITY and ssl-ca=FILE to --database-url",
  },
  {
    error: /^(AUTH_SWITCH_PLUGIN_ERROR|ER_PLUGIN_IS_NOT_LOADED|ER_NOT_SUPPORTED_AUTH_MODE) /,
    says: "the user cannot be authenticated in the way that the server asks for",
    remedy: "let the user have caching_sha2_password (MySQL) or ed25519 (MariaDB): ALTER USER … IDENTIFIED",
  },
  {
    error: /Unknown authenticationOk message type|SASL: Only mechanism/,
    says: "the user cannot be authenticated in the way that the server asks for",
    remedy: "let pg_hba.conf name scram-sha-256 or cert",
  },
  {
    // MariaDB has another number for it, to which the driver gives the name of MySQL's.
    error: /^ER_ACCOUNT_HAS_BEEN_LOCKED |^ER_USER_ACCESS_DENIED_FOR_USER_ACCOUNT|this account is locked/,
    says: "the user is locked",
    remedy: "ALTER USER … ACCOUNT UNLOCK",
  },
  {
    error: /^ER_MUST_CHANGE_PASSWORD(_LOGIN)? /,
    says: "the password of the user has expired",
    remedy: "ALTER USER … IDENTIFIED BY another one",
  },
  {
    error: /^ER_HOST_NOT_PRIVILEGED /,
    says: "the server admits no user from this host",
    remedy: "CREATE USER with this host, or with '%'",
  },
  {
    error: /^ER_HOST_IS_BLOCKED /,
    says: "the server has blocked this host after failed connections",
    remedy: "run mysqladmin flush-hosts, and find out what connects and fails",
  },
  {
    error: /--database-password/,
    says: "there is no password",
    remedy: "can this process read the file, or run the program?",
  },

  // Rights
  {
    error: /^42501 .*row-level security/,
    says: "a policy of row-level security hides rows from this user",
    remedy: "ALTER TABLE … DISABLE ROW LEVEL SECURITY, or ALTER ROLE … BYPASSRLS",
  },
  {
    error: /^42501 must be owner/,
    says: "the user does not own the tables",
    remedy: "run the command as their owner: docs/deploying.md has the statements",
  },
  {
    error: /^(42501|ER_(DB|TABLE|COLUMN|PROC|SPECIFIC_)ACCESS_DENIED_ERROR) |the user needs SELECT on/,
    says: "the user lacks a right",
    remedy: grant,
  },

  // Limits
  {
    error: /^(ER_CON_COUNT_ERROR|ER_TOO_MANY_USER_CONNECTIONS|53300) /,
    says: "the server has no more connections for this user",
    remedy: fewer,
  },
  {
    error: /^ER_USER_LIMIT_REACHED .*max_user_connections/,
    says: "the server has no more connections for this user",
    remedy: fewer,
  },
  {
    error: /^(ER_USER_LIMIT_REACHED|53400) /,
    says: "the user has reached a limit of the server",
    remedy: "raise the limit that the message names",
  },
  {
    error: /^ER_MAX_PREPARED_STMT_COUNT_REACHED /,
    says: "the server keeps no more prepared statements",
    remedy: "raise max_prepared_stmt_count",
  },
  {
    error: /^(ER_DISK_FULL|ER_RECORD_FILE_FULL|53100|SQLITE_FULL) |No space left on device/,
    says: "the disk is full",
    remedy: "free space where the database stores its files: nothing else is needed",
  },
  {
    error: /^(ER_OUT_?OF_?(RESOURCES|MEMORY|SORTMEMORY)|53...) /,
    says: "the server lacks memory or another resource",
    remedy: "its log says which: give it more",
  },
  {
    error: /^(ER_QUERY_TIMEOUT|1969|57014) /,
    says: "a statement took too long",
    remedy: "what keeps the server busy? --database-statement-timeout-ms is the limit",
  },
  { error: /^(ER_LOCK_WAIT_TIMEOUT|ER_LOCK_NOWAIT|55P03) /, says: "another transaction holds a lock", remedy: again },

  // No writes
  {
    error: /^(ER_OPTION_PREVENTS_STATEMENT|ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION|ER_READ_ONLY_MODE|25006) /,
    says: "the server accepts no writes",
    remedy: "let --database-url lead to the primary, or turn off read_only or default_transaction_read_only",
  },
  {
    error: /^(ER_INNODB_READ_ONLY|ER_INNODB_FORCED_RECOVERY) /,
    says: "the server accepts no writes",
    remedy: "start it without innodb_read_only and innodb_force_recovery",
  },
  {
    error: /^ER_BINLOG_STMT_MODE_AND_ROW_ENGINE /,
    says: "the server cannot log these writes",
    remedy: "set binlog_format=ROW",
  },
  {
    error: /^(ER_UNKNOWN_COM_ERROR|ER_RUN_HOOK_ERROR|ER_GRP_TRX_CONSISTENCY_\S*) /,
    says: "the server is not in its cluster",
    remedy: "let it join again, and name all members in --database-url",
  },

  // What is missing
  {
    error: /^(ER_BAD_DB_ERROR|3D000) /,
    says: "there is no such database",
    remedy: "create the database first, or correct --database-url",
  },
  { error: /^3F000 /, says: "there is no such schema", remedy: "create it, or correct schema in --database-url" },
  {
    error: /^(ER_NO_SUCH_TABLE|42P01|1932) |no such table/,
    says: "a table is missing",
    remedy: "run authwire migrate up; if nothing is pending, restore the table from a backup",
  },
  {
    error: /^(ER_BAD_FIELD_ERROR|42703) |no such column/,
    says: "a column is missing",
    remedy: "run authwire migrate up; if nothing is pending, restore the table from a backup",
  },

  // Connections
  {
    error: /\bVT10001: /,
    says: "vtgate allows no foreign keys",
    remedy: "set its --foreign-key-mode to allow, and the foreignKeyMode of the keyspace to unmanaged",
  },
  {
    error: /^(57P03|ER_SERVER_OFFLINE_MODE) /,
    says: "the server accepts no connections at present",
    remedy: "it may be starting or recovering: its log says so",
  },
  {
    error: /^(ER_SERVER_SHUTDOWN|ER_SHUTDOWN_COMPLETE|57P01|57P02|57P04) /,
    says: "the server has ended the connection, because it stops or somebody ended it",
    remedy: "start it again",
  },
  {
    error: /^(200[236]|2013|ER_SERVER_ISNT_AVAILABLE|ER_UNKNOWN_ERROR (VT|target: )\S*) /,
    says: "vtgate reaches no primary of the keyspace",
    remedy: "SHOW VITESS_TABLETS says which tablets serve",
  },
  {
    error:
      /^(ER_QUERY_INTERRUPTED|ER_ABORTING_CONNECTION|ER_NEW_ABORTING_CONNECTION|ER_CLIENT_INTERACTION_TIMEOUT|1927|25P03|57P05|08...|ECONNRESET|EPIPE|PROTOCOL_CONNECTION_LOST) |Connection terminated/,
    says: "the connection has ended",
    remedy: "the log of the server says why",
  },
  {
    error: /^(0A000|26000) /,
    says: "a prepared statement is no longer valid",
    remedy: "if this lasts, a pooler before the database may be in transaction mode",
  },
  {
    error: /^TRANSACTION_POOLER /,
    says: "--database-url leads to a pooler in transaction mode",
    remedy: "use the address of the database itself, or the pooler's mode for sessions",
  },
  {
    error:
      /^(58030|XX001|XX002|ER_CRASHED_ON_USAGE|ER_CRASHED_ON_REPAIR|ER_NOT_KEYFILE|ER_ERROR_ON_WRITE|ER_GET_ERRNO) /,
    says: "the server cannot read or write its files",
    remedy: "check its log and its disk",
  },
  {
    error: /^(ENOTFOUND|EAI_AGAIN) /,
    says: "the host has no address",
    remedy: "correct its name in --database-url, or the name service",
  },
  {
    error: /the name service/,
    says: "the host has no address",
    remedy: "--database-connect-timeout-ms sets how long the name service may take",
  },
  {
    error: /^(ECONNREFUSED|ETIMEDOUT|EHOSTUNREACH|EHOSTDOWN|ENETUNREACH) |connect E|timeout expired/,
    says: "no server answers",
    remedy: "is the database running, and is --database-url correct?",
  },
  { error: /no member of the cluster/, says: "no server can be used" },

  // Files of SQLite
  {
    error: /^ENOENT /,
    says: "there is no such file",
    remedy: "create it with authwire migrate up, or correct --database-url",
  },
  { error: /^SQLITE_BUSY /, says: "another process has locked the file", remedy: again },
  { error: /^SQLITE_LOCKED /, says: "another connection has locked the file", remedy: again },
  {
    error: /^SQLITE_READONLY /,
    says: "the file or its folder cannot be written, and SQLite writes next to a file with a write-ahead log even to read it",
    remedy: file,
  },
  { error: /^SQLITE_READONLY_DBMOVED /, says: "the file is no longer the one that was opened" },
  { error: /^SQLITE_IOERR /, says: "the file, or one next to it, cannot be read or written", remedy: file },
  { error: /^SQLITE_CORRUPT /, says: "the file is damaged", remedy: "restore it from a backup" },
  { error: /^SQLITE_CANTOPEN /, says: "the file, or one next to it, cannot be opened", remedy: file },
  { error: /^SQLITE_NOTADB /, says: "the file is not a database of SQLite", remedy: file },
]
