import type { Addresses } from "../bootstrap/banner.js"
import type { Configuration } from "../config/configuration.js"
import type { MetricValues } from "../metrics/metrics.js"

/** The messages of the primary to a worker, as JSON. Apart from connections nothing else is passed between them. */
export type ToWorker =
  /**
   * The first message. `worker` is its number, from 1. A replacement has the same number as the worker that it
   * replaces.
   */
  | { type: "start"; worker: number; configuration: Configuration; ready: boolean }
  /** The readiness that every worker reports from now on. */
  | { type: "readiness"; ready: boolean }
  /** Requests a PONG. */
  | { type: "ping" }
  /** Requests the worker's metrics. */
  | { type: "metrics"; id: number }
  /** Tells the worker to report itself as not ready permanently, and to confirm with STOPPING. */
  | { type: "stop" }
  /** Tells the worker to stop accepting connections, finish the active calls and exit. */
  | { type: "drain" }

/** The messages of a worker to the primary. */
export type ToPrimary =
  /** Whether the worker's database answers. Sent once at the start and at every change. */
  | { type: "database"; answers: boolean }
  /** All listeners of the worker are open. */
  | { type: "listening"; addresses: Addresses }
  /** The answer to the metrics request with this id. */
  | { type: "metrics"; id: number; values: MetricValues }
  | { type: "stopping" }
  | { type: "pong" }
  /** The worker cannot start for an external reason. This is its last message. */
  | { type: "failed"; message: string }
