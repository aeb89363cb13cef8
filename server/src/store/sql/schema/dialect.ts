import type { ObjectLiteral, QueryRunner, SelectQueryBuilder } from "typeorm"
import type { ColumnTypes } from "./column-types.js"

/** Version, clock and settings of a database. */
export interface DatabaseFacts {
  /** Such as `9.7.0`, `11.8.2-MariaDB`, `15.14`, `SQLite 3.45.1`. */
  version: string
  /** The oldest version that is tested, unless the service brings its own. */
  oldest?: readonly [major: number, minor: number]
  /** The database's clock, in milliseconds since 1970-01-01T00:00:00Z. */
  clock: number
  /** The relevant settings, as the database writes them. For SQLite only `journal_mode`. */
  settings: Readonly<Record<string, string>>
  /** The limits of connections that hold for this user. */
  limits: readonly ConnectionLimit[]
  /** The free space for the database, in bytes, where it can be known. */
  freeBytes?: number | undefined
}

/** How many connections there may be at the same time: of all users, of this one, or to the database. */
export interface ConnectionLimit {
  of: "server" | "user" | "database"
  most: number
}

/** A right that the service uses and this user lacks, such as `DELETE` on `sessions`. */
export interface MissingRight {
  right: string
  on: string
}

/** What to do when another transaction has locked a row. Where a transaction locks the whole database, none has. */
export type IfLocked = "fail" | "skip" | "wait"

/** Where a stretch of an index begins or ends: the first columns of its order, compared with parameters. */
export interface Bound {
  columns: readonly string[]
  operator: ">" | ">=" | "<" | "<="
  parameters: readonly string[]
}

/** A stretch of an index: the entries with one value in each of its first columns, within bounds on those that follow. */
export interface Stretch {
  equal: readonly { column: string; parameter: string }[]
  bounds: readonly Bound[]
  /** Whether another index begins with the order. */
  hasRival: boolean
}

/** What a database engine has of its own in the text of statements. Each stands in engine/dialects.ts. */
export interface Dialect {
  /** The column types of the tables. */
  readonly types: ColumnTypes
  /** The current time in UTC with millisecond precision, as an expression. Its cell is that of a time column. */
  readonly now: string
  /** The beginning of the current day in UTC, in the same way. */
  readonly today: string
  /** Makes a SELECT lock its rows until the transaction ends. */
  locking<Row extends ObjectLiteral>(select: SelectQueryBuilder<Row>, ifLocked: IfLocked): SelectQueryBuilder<Row>
  /** Returns the condition for which the engine reads this stretch of an index and nothing else, in the order of the index. */
  within(stretch: Stretch): string
  /** Whether rows are sorted also by a column that is null in all of them. */
  readonly sortsNulls: boolean
  /** Follows a subquery that selects the row to which a foreign key of a new row refers. */
  readonly lockOfParent: string
  /** Follows the name of a table in a statement written by hand that finds its rows by their primary keys. */
  readonly byPrimaryKey: string
  /** Returns the place of a parameter in a statement written by hand: the first one is 1. */
  parameter(place: number): string
  /** Returns what stands in the parentheses after IN for rows of several columns. */
  rowsIn(rows: readonly string[]): string
  /** Whether such a list of rows finds them by an index. */
  readonly findsRowsIn: boolean
  /** Whether the database takes only text that is UTF-8 without U+0000. */
  readonly checksText: boolean
  /** How migrations use transactions: one `each`, or `none` where the schema lock is one or each change is committed at once. */
  readonly migrations: "each" | "none"
  /** The schema of the tables, as an expression for the views of the servers. SQLite has none. */
  readonly currentSchema: string | undefined
  /** The triggers of the tables, and the query for the names of those that the database has. */
  readonly triggers: { readonly names: readonly string[]; readonly query: string }
  /** Reads the facts of a database. Changes nothing in it. */
  facts(runner: QueryRunner): Promise<DatabaseFacts>
  /** Returns the rights that this user lacks on the tables that exist, or on the file. Changes nothing. */
  missingRights(runner: QueryRunner): Promise<MissingRight[]>
}
