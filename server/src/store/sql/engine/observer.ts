import type { Tracer } from "@opentelemetry/api"

/** Hears what happens between the calls and the database, for metrics. Nothing in it waits or throws. */
export interface DatabaseObserver {
  /** A unit of work has its connection, so many milliseconds after it wanted one. */
  waited(ms: number): void
  /** A connection was made, in so many milliseconds. */
  connected(ms: number): void
  /**
   * A statement has ended.
   *
   * @param failure how it failed, as StatementError says it; undefined if it did not
   */
  ran(about: StatementName, ms: number, failure: string | undefined): void
  /** One statement answers so many lookups. */
  lookedUp(count: number): void
}

/** What a statement does: of few values, for names of spans and labels of metrics. */
export interface StatementName {
  /** `SELECT`, `COMMIT` and the like. */
  readonly operation: string
  /** The first of its tables; undefined where it has none. */
  readonly table: string | undefined
  /** `SELECT sessions users`. */
  readonly summary: string
}

/** Who hears of what happens in a database; nobody by default. */
export interface Observation {
  observer?: DatabaseObserver | undefined
  /** Makes the spans of statements. */
  tracer?: Tracer | undefined
}

/** How busy a database is, at a moment. */
export interface DatabaseLoad {
  /** How many units of work may run at the same time. */
  readonly places: number
  /** How many do. */
  readonly active: number
  /** How many calls wait: for a connection, or for their turn to write a row. */
  readonly waiting: number
}
