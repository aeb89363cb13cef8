import type { DataSource, QueryRunner } from "typeorm"
import type { CoalesceOptions } from "../query/batch-loader.js"
import type { Cell } from "../query/statement.js"
import type { Dialect } from "../schema/dialect.js"

/** The database engines that the store supports. A Group Replication cluster is `mysql`. */
export type Engine = "mysql" | "mariadb" | "sqlite" | "postgres"

export interface Result {
  /** The rows of a read, as cells in the order of the columns. */
  rows: Cell[][]
  /** The number of rows that matched the condition of a write, even if it changed nothing in them. */
  matched: number
}

/** A connection for the exclusive use of one unit of work. All errors that it throws are StatementErrors. */
export interface Connection {
  /** Whether the connection was used before. Then it may be dead without notice. */
  readonly reused: boolean
  /** Runs a prepared statement. Without cells: a statement that cannot be prepared (BEGIN, COMMIT). */
  run(statement: string, cells?: Cell[]): Promise<Result>
  /** Returns the connection to the pool, or ends it if it is broken. */
  release(): void
  /** Ends the connection. */
  discard(): void
}

/** The interface to one database engine, with all that differs between them. */
export interface SqlEngine {
  readonly engine: Engine
  readonly dialect: Dialect
  readonly dataSource: DataSource
  /** The number of units of work that may run at the same time. */
  readonly concurrency: number
  /** The statement that begins a write transaction. */
  readonly begin: string
  /** Whether the engine locks single rows. Otherwise a write locks the whole database. */
  readonly locksRows: boolean
  /** How lookups by key share statements. The limit is a power of two. */
  readonly lookups: CoalesceOptions
  /**
   * Whether another member of a cluster may accept writes when this one does not. Work that was not done is then
   * retried there.
   */
  readonly hasOtherMembers: boolean
  /** Whether other members of a cluster accept writes at the same time; see turns.ts. Default: no. */
  readonly hasOtherWriters?: boolean
  /** Whether this is a sharded keyspace of Vitess as a whole, on which no call runs; see shards/shards.ts. Default: no. */
  readonly isSharded?: boolean
  connect(): Promise<Connection>
  /** The limit before which units of work wait, if statements keep the event loop busy; see turnLimit. Default: they do not. */
  readonly turn?: () => Promise<void>
  /**
   * Runs TypeORM's own queries on a connection that is not reused afterwards. Failures of the database are
   * StatementErrors.
   */
  withQueryRunner<T>(work: (runner: QueryRunner) => Promise<T>): Promise<T>
  /** Runs work like withQueryRunner while no other process does so: for changes of the tables. */
  withSchemaLock<T>(work: (runner: QueryRunner) => Promise<T>): Promise<T>
  /** Ends all connections. Active statements throw. */
  close(): Promise<void>
}
