import type { Addresses } from "../bootstrap/banner.js"
import type { Configuration } from "../cli/config/configuration.js"
import type { MetricValues } from "../metrics/metrics.js"

/** What the primary says to a worker, as JSON. Nothing else passes between them but the connections. */
export type ToWorker =
  /** The first message. `worker` is its number, from 1; whoever replaces it has the same. */
  | { type: "start"; worker: number; configuration: Configuration; ready: boolean }
  /** What every worker answers about its health from now on. */
  | { type: "readiness"; ready: boolean }
  /** Say that you can: PONG. */
  | { type: "ping" }
  /** Say what you have measured. */
  | { type: "metrics"; id: number }
  /** Answer that you are not ready, for good, and say that you do: STOPPING. */
  | { type: "stop" }
  /** Take no more connections, finish the active calls, and end. */
  | { type: "drain" }

/** What a worker says to the primary. */
export type ToPrimary =
  /** Whether the worker's database answers: the first time, and at every change. */
  | { type: "database"; answers: boolean }
  /** Every listener is open. */
  | { type: "listening"; addresses: Addresses }
  /** The answer to the question with this id. */
  | { type: "metrics"; id: number; values: MetricValues }
  | { type: "stopping" }
  | { type: "pong" }
  /** It cannot start, for a reason outside; the last message. */
  | { type: "failed"; message: string }
