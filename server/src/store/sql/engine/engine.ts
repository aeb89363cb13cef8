import type { DataSource, QueryRunner } from "typeorm"
import type { CoalesceOptions } from "../query/batch-loader.js"
import type { Cell } from "../query/statement.js"
import type { Engine } from "../schema/column-types.js"
import type { Lock } from "../schema/table.js"

export interface Result {
  /** Of a statement that reads: its rows, as cells in the order of the columns. */
  rows: Cell[][]
  /** Of a statement that writes: how many rows matched its condition, also when it changed nothing in them. */
  matched: number
}

/** A connection that one unit of work has for itself. Everything it throws is a StatementError. */
export interface Connection {
  /** Whether it was used before: then its other end may have gone away unnoticed. */
  readonly reused: boolean
  /** Runs a prepared statement; without cells, one that cannot be prepared (BEGIN, COMMIT). */
  run(statement: string, cells?: Cell[]): Promise<Result>
  /** Gives it back for others, or ends it if it broke. */
  release(): void
  /** Ends it. */
  discard(): void
}

/** What differs between the databases. */
export interface SqlEngine {
  readonly engine: Engine
  readonly dataSource: DataSource
  /** How many units of work may run at the same time. */
  readonly concurrency: number
  /** The statement that begins a transaction which will write. */
  readonly begin: string
  readonly lock: Lock
  /** Whether it locks single rows; else whoever writes locks everything. */
  readonly locksRows: boolean
  /** How lookups by key share statements. The limit is a power of two. */
  readonly lookups: CoalesceOptions
  /** Whether another member may take writes when this one takes none: what was not done is done there. */
  readonly hasOtherMembers: boolean
  connect(): Promise<Connection>
  /** Runs TypeORM's own queries on a connection that nobody uses afterwards. Failures of the database are StatementErrors. */
  withQueryRunner<T>(work: (runner: QueryRunner) => Promise<T>): Promise<T>
  /** The same, while no other process does so: for changes of the tables. */
  withSchemaLock<T>(work: (runner: QueryRunner) => Promise<T>): Promise<T>
  /** Ends all connections. Statements active throw. */
  close(): Promise<void>
}
