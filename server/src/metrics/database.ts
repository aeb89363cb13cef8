import { Counter, Histogram, type Registry } from "prom-client"
import type { DatabaseLoad, DatabaseObserver, RetryEvent, UnreadableRowEvent } from "../store/sql/index.js"
import { loadGauges } from "./loads.js"

/** The metrics of connections, statements and retries. */
export interface DatabaseMetrics extends DatabaseObserver {
  /** Counts a retry of a write that conflicted with other transactions. */
  retried(event: RetryEvent): void
  /** Counts a row that was left out of a list. */
  skipped(row: UnreadableRowEvent): void
  /** Sets the function that returns the current load, which is called at each scrape. */
  watch(load: () => DatabaseLoad): void
}

/** Bucket limits in seconds: from a statement on the same machine to the longest that a statement may take. */
const buckets = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Creates the metrics. Names with `db_client_` are from OpenTelemetry's semantic conventions, as for Prometheus. */
export function databaseMetrics(registers: Registry[]): DatabaseMetrics {
  const wait = new Histogram({
    name: "db_client_connection_wait_time_seconds",
    help: "How long calls waited for a database connection, including the time in the queue.",
    buckets,
    registers,
  })
  const create = new Histogram({
    name: "db_client_connection_create_time_seconds",
    help: "How long opening a database connection took; each one after the first ones is a reconnect.",
    buckets,
    registers,
  })
  const duration = new Histogram({
    name: "db_client_operation_duration_seconds",
    help: "The duration of statements; for failed statements, error_type is the kind of failure.",
    labelNames: ["db_operation_name", "db_collection_name", "error_type"] as const,
    buckets,
    registers,
  })
  const retries = new Counter({
    name: "authwire_database_retries_total",
    help: "Retries of writes that conflicted with other writes, by the error code of the database.",
    labelNames: ["code"] as const,
    registers,
  })
  const lookups = new Histogram({
    name: "authwire_lookup_batch_size",
    help: "The number of lookups by key that one statement executed: the sum counts lookups, the count statements.",
    buckets: [1, 2, 4, 8, 16],
    registers,
  })
  const skipped = new Counter({
    name: "authwire_database_unreadable_rows_total",
    help: "Rows that were left out of a list because a value of them cannot be read, by table.",
    labelNames: ["table"] as const,
    registers,
  })
  const watchConnections = loadGauges<DatabaseLoad>(registers, [
    ["db_client_connection_max", "The maximum number of database connections for calls.", ({ limit }) => limit],
    [
      "db_client_connection_pending_requests",
      "The number of calls that wait for a database connection.",
      ({ waiting }) => waiting,
    ],
    [
      "authwire_database_row_waiters",
      "The number of calls that wait for their turn to write a row.",
      ({ waitingForRows }) => waitingForRows,
    ],
  ])
  const watchUsed = loadGauges<DatabaseLoad>(
    registers,
    [["db_client_connection_count", "The number of database connections that calls use.", ({ active }) => active]],
    ["db_client_connection_state"],
  )

  /** The map stays small, because there are few kinds of statements and few kinds of failures. */
  const series = new Map<string, { observe(seconds: number): void }>()
  const seriesOf = (operation: string, table: string, failure: string) => {
    const key = `${operation} ${table} ${failure}`
    let one = series.get(key)
    if (one === undefined) {
      one = duration.labels({ db_operation_name: operation, db_collection_name: table, error_type: failure })
      series.set(key, one)
    }
    return one
  }

  return {
    waited: (ms) => wait.observe(ms / 1000),
    connected: (ms) => create.observe(ms / 1000),
    ran: ({ operation, table = "" }, ms, failure = "") => seriesOf(operation, table, failure).observe(ms / 1000),
    lookedUp: (count) => lookups.observe(count),
    skipped: ({ table }) => skipped.inc({ table }),
    retried: ({ code = "" }) => retries.inc({ code }),
    watch(load) {
      watchConnections(load)
      watchUsed(load, { db_client_connection_state: "used" })
    },
  }
}
