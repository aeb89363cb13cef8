import type { Tracer } from "@opentelemetry/api"

/** Observes what happens between calls and the database, for metrics. Its methods do not wait and do not throw. */
export interface DatabaseObserver {
  /** A unit of work has got its connection, after waiting `ms` milliseconds. */
  waited(ms: number): void
  /** A connection was made in `ms` milliseconds. */
  connected(ms: number): void
  /**
   * A statement has ended.
   *
   * @param failure the kind of failure, as in StatementError; undefined if it succeeded
   */
  ran(about: StatementName, ms: number, failure: string | undefined): void
  /** One statement has answered `count` lookups. */
  lookedUp(count: number): void
}

/** The name of a statement for spans and metric labels. It has low cardinality. */
export interface StatementName {
  /** `SELECT`, `COMMIT` and the like. */
  readonly operation: string
  /** The first table; undefined if the statement has none. */
  readonly table: string | undefined
  /** The operation and the tables, such as `SELECT sessions users`. */
  readonly summary: string
}

/** The observers of a database. Default: none. */
export interface Observation {
  observer?: DatabaseObserver | undefined
  /** Creates the spans of statements. */
  tracer?: Tracer | undefined
}

/** The current load of a database. */
export interface DatabaseLoad {
  /** The number of units of work that may run at the same time. */
  readonly limit: number
  /** The number that are running. */
  readonly active: number
  /** The number of calls that wait for a connection. */
  readonly waiting: number
  /** The number of calls that wait for a row that another call of this process writes. */
  readonly waitingForRows: number
}
