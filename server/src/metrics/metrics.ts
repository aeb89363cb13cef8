import type { DescMethod } from "@bufbuild/protobuf"
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client"
import type { CleanupObserver } from "../cleanup/cleaner.js"
import type { Reason } from "../errors/failure.js"
import { statusName } from "../errors/status.js"
import type { FeedObserver } from "../events/feed.js"
import type { LimitLoad } from "../overload/concurrency-limit.js"
import type { CallEnded } from "../rpc/interceptor.js"
import type { WebhookObserver } from "../webhooks/dispatcher.js"
import { type DatabaseMetrics, databaseMetrics } from "./database.js"
import { loadGauges, type SetLoad } from "./loads.js"
import { webhookMetrics } from "./webhooks.js"

/** Counts the exported spans. */
export interface SpanMetrics {
  /** @param isTaken whether the collector accepted them; otherwise they are lost */
  exported(spans: number, isTaken: boolean): void
}

/** The metrics of one process, for Prometheus. */
export interface Metrics {
  /** Returns the function that records each finished call of a method. Runs once per method. */
  recorderOf(method: DescMethod): CallEnded
  /** Records a call that was rejected before it began. `code`: the gRPC status; `reason`: its reason, if it has one. */
  rejected(method: DescMethod, transport: string, code: number, reason?: Reason): void
  /** Records whether the database answers and accepts writes. */
  database(answers: boolean): void
  /** Records how far the clock of this process is ahead of the database's, in milliseconds. */
  clockOffset(ms: number): void
  /** Observes the deletion of expired rows. */
  readonly cleanup: CleanupObserver
  readonly events: FeedObserver
  readonly webhooks: WebhookObserver
  readonly store: DatabaseMetrics
  readonly spans: SpanMetrics
  /** Adds a concurrency limit. The label `limit` names the resource that its calls use. */
  readonly limit: SetLoad<LimitLoad>
  /** Sets the number of clients that follow changes for their session caches, and of leases to use such caches. */
  readonly sessionCaches: SetLoad<{ streams: number; leases: number }>
  /** Returns the text that Prometheus scrapes. */
  text(): Promise<string>
}

/** Bucket limits in seconds: from a lookup on the same machine to the longest that a call may take. */
const buckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

const types = { unary: "unary", client_streaming: "client_stream", server_streaming: "server_stream" } as const

export function createMetrics(): Metrics {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  // The names are those of the gRPC ecosystem, so that its dashboards work.
  const labelNames = ["grpc_type", "grpc_service", "grpc_method", "transport"] as const
  const handled = new Counter({
    name: "grpc_server_handled_total",
    help: "Completed calls, by status. Calls in a pipeline have the transport pipeline.",
    labelNames: [...labelNames, "grpc_code"] as const,
    registers,
  })
  const handling = new Histogram({
    name: "grpc_server_handling_seconds",
    help: "The duration of calls from their start to their response, without calls that were rejected at once.",
    labelNames,
    buckets,
    registers,
  })
  const failures = new Counter({
    name: "authwire_failures_total",
    help: "Calls that failed or were rejected, by the reason in their error.",
    labelNames: ["reason"] as const,
    registers,
  })
  const database = new Gauge({
    name: "authwire_database_up",
    help: "Whether the database answers and accepts writes: 1 or 0.",
    registers,
  })
  const clockOffset = new Gauge({
    name: "authwire_clock_offset_seconds",
    help: "How far the clock of this process is ahead of the database's. Negative: it is behind.",
    registers,
  })

  const spans = new Counter({
    name: "authwire_spans_exported_total",
    help: "Spans that were sent to the collector, by outcome: accepted (ok) or lost (failed).",
    labelNames: ["outcome"] as const,
    registers,
  })
  for (const outcome of ["ok", "failed"]) spans.inc({ outcome }, 0)
  const limit = loadGauges<LimitLoad>(
    registers,
    [
      [
        "authwire_calls_active",
        "The number of active calls, by concurrency limit: reads, writes, or tokens (TokenService).",
        ({ active }) => active,
      ],
      ["authwire_calls_max", "The maximum number of active calls.", ({ maxCalls }) => maxCalls],
      ["authwire_calls_waiting", "The number of calls that wait for a slot.", ({ waiting }) => waiting],
      ["authwire_api_keys_active", "The number of API keys with active or waiting calls.", ({ keys }) => keys],
    ],
    ["limit"],
  )
  const sessionCaches = loadGauges<{ streams: number; leases: number }>(registers, [
    [
      "authwire_session_cache_streams",
      "Open streams of clients that follow changes for their session caches.",
      ({ streams }) => streams,
    ],
    [
      "authwire_session_cache_leases",
      "Session caches that may serve sessions, including those whose stream was disconnected.",
      ({ leases }) => leases,
    ],
  ])

  const labelsOf = ({ methodKind, parent, name }: DescMethod, transport: string) => ({
    grpc_type: methodKind === "bidi_streaming" ? "bidi_stream" : types[methodKind],
    grpc_service: parent.typeName,
    grpc_method: name,
    transport,
  })
  /** Counter and histogram of each method, transport and code. Without this map a call takes 2 µs more. */
  const series = new Map<string, { inc(): void; observe(seconds: number): void }>()
  const seriesOf = (method: DescMethod, transport: string, code: string) => {
    const key = `${method.parent.typeName}/${method.name} ${transport} ${code}`
    let one = series.get(key)
    if (one === undefined) {
      const labels = labelsOf(method, transport)
      const [count, time] = [handled.labels({ ...labels, grpc_code: code }), handling.labels(labels)]
      one = { inc: () => count.inc(), observe: (seconds) => time.observe(seconds) }
      series.set(key, one)
    }
    return one
  }

  return {
    recorderOf: (method) => (call, failure, begun, end) => {
      const code = failure === undefined ? "OK" : statusName(failure.code)
      const one = seriesOf(method, call.transport, code)
      one.inc()
      one.observe((end - begun) / 1000)
      if (failure !== undefined) failures.inc({ reason: failure.reason })
    },
    rejected(method, transport, code, reason) {
      seriesOf(method, transport, statusName(code)).inc()
      if (reason !== undefined) failures.inc({ reason })
    },
    database: (answers) => database.set(answers ? 1 : 0),
    clockOffset: (ms) => clockOffset.set(ms / 1000),
    cleanup: cleanupMetrics(registry),
    events: eventMetrics(registry),
    webhooks: webhookMetrics(registers),
    store: databaseMetrics(registers),
    spans: { exported: (count, isTaken) => spans.inc({ outcome: isTaken ? "ok" : "failed" }, count) },
    limit,
    sessionCaches,
    text: () => registry.metrics(),
  }
}

/** Creates the metrics of the deletion of expired rows. */
function cleanupMetrics(registry: Registry): CleanupObserver {
  const registers = [registry]
  const lease = new Gauge({
    name: "authwire_cleanup_lease_held",
    help: "Whether this process holds the lease to delete expired rows: 1 or 0.",
    registers,
  })
  const rows = new Counter({
    name: "authwire_cleanup_deleted_rows_total",
    help: "The number of expired rows that were deleted.",
    labelNames: ["table"] as const,
    registers,
  })
  const oldest = new Gauge({
    name: "authwire_cleanup_oldest_row_seconds",
    help: "The time between the expiry of the oldest row and its deletion in the last round of this process; 0 if there was none to delete.",
    labelNames: ["table"] as const,
    registers,
  })
  const duration = new Counter({
    name: "authwire_cleanup_seconds_total",
    help: "The total duration of the deletion rounds of this process, including their pauses.",
    registers,
  })
  const rounds = new Counter({
    name: "authwire_cleanup_rounds_total",
    help: "The number of completed deletion rounds.",
    registers,
  })
  return {
    lease: (isHeld) => lease.set(isHeld ? 1 : 0),
    deleted: (table, count) => rows.inc({ table }, count),
    oldest: (table, ms) => oldest.set({ table }, ms / 1000),
    ended(ms) {
      duration.inc(ms / 1000)
      rounds.inc()
    },
  }
}

/** Creates the metrics of the reading of events. */
function eventMetrics(registry: Registry): FeedObserver {
  const registers = [registry]
  const subscribers = new Gauge({
    name: "authwire_event_subscribers",
    help: "Streams of events, and other readers of events, in this process.",
    registers,
  })
  const events = new Counter({
    name: "authwire_events_read_total",
    help: "Events that were read from the database; each process that has streams or other readers of a tenant counts an event once.",
    registers,
  })
  const lag = new Gauge({
    name: "authwire_event_lag_seconds",
    help: "The age of the oldest event of the last read, by the clocks of the writing and the reading process.",
    registers,
  })
  return {
    subscribers: (count) => subscribers.set(count),
    read(count, lagMs) {
      events.inc(count)
      lag.set(lagMs / 1000)
    },
  }
}
